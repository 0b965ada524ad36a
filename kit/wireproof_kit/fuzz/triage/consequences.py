"""What follows from what was violated: for the target, for the hunt, for what is told."""

from typing import Final

from wireproof_kit.fuzz.oracle.rules import (
    CLOSED,
    DELIVERY,
    FILES,
    HUNG,
    LINGERS,
    MEMORY,
    NEIGHBOUR,
    NO_ANSWER,
    NONSENSE,
    NOT_CLOSED,
    ROUND_TRIP,
    WRONG_ANSWER,
)

ANSWERED = frozenset({WRONG_ANSWER, CLOSED, NONSENSE, LINGERS})
"""What is known of the case at once; cases like it go on being sent."""
LATE = frozenset(
    {NO_ANSWER, NOT_CLOSED, DELIVERY, NEIGHBOUR, ROUND_TRIP, HUNG, LINGERS, FILES, MEMORY}
)
"""What may be the machine's doing when it does not show again."""

SILENT = frozenset({NO_ANSWER, NOT_CLOSED})
"""What all cases of a batch raise when the machine stands still for longer than patience."""
STUCK = frozenset({HUNG, ROUND_TRIP})
"""After these it is replaced where it can be."""
ILL = STUCK | {NEIGHBOUR, DELIVERY, NO_ANSWER}
"""After these it is looked whether the target is well at all."""
ALIKE = (
    frozenset({DELIVERY, NEIGHBOUR, ROUND_TRIP}),
    SILENT,
    frozenset({HUNG, ROUND_TRIP}),
)
"""What one fault may show as, now so, now so."""
STAYS_HUNG: Final = "unconfirmed, since the target stays hung; give --restart CMD"
STAYS_DEAD: Final = "unconfirmed, since the target stays dead; give --restart CMD"
NO_TIME: Final = "unconfirmed, since the campaign's time was over"
