"""The kinds of violated rules, by what follows from them for the target and the search."""

from typing import Final

from wireproof_kit.fuzz.oracle.client_rules import NOT_GIVEN, SPINS
from wireproof_kit.fuzz.oracle.client_rules import STUCK as STUCK_CLIENT
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
    REDELIVERY,
    ROUND_TRIP,
    WRONG_ANSWER,
)

ANSWERED = frozenset({WRONG_ANSWER, CLOSED, NONSENSE, LINGERS, NOT_GIVEN})
"""Rules whose violation has a known case at once; similar cases are still sent."""
OF_ONE_CASE = frozenset({WRONG_ANSWER, CLOSED, NONSENSE, NO_ANSWER, NOT_CLOSED})
"""Rules whose violation shows on the connections of the case that causes it."""
LATE = frozenset(
    {
        *(NO_ANSWER, NOT_CLOSED, DELIVERY, NEIGHBOUR, REDELIVERY, ROUND_TRIP),
        *(HUNG, LINGERS, FILES, MEMORY),
        *(STUCK_CLIENT, SPINS),
    }
)
"""Rules whose violation may come from a busy machine if it is not seen again."""

SILENT = frozenset({NO_ANSWER, NOT_CLOSED})
"""Rules that every case of a batch violates if the machine is suspended for long enough."""
STUCK = frozenset({HUNG, ROUND_TRIP})
"""Rules after whose violation the target is restarted if it can be."""
ILL = STUCK | {NEIGHBOUR, DELIVERY, NO_ANSWER}
"""Rules after whose violation the health of the target is checked."""
BESIDE = frozenset({DELIVERY, NEIGHBOUR, ROUND_TRIP})
"""Rules whose violation shows on the connections of the kit's own clients."""
ALIKE = (
    BESIDE,
    SILENT,
    frozenset({HUNG, ROUND_TRIP}),
)
"""Groups of rules that the same fault may violate in different runs."""
STAYS_HUNG: Final = "unconfirmed, since the target stays hung; give --restart CMD"
STAYS_DEAD: Final = "unconfirmed, since the target stays dead; give --restart CMD"
NO_TIME: Final = "unconfirmed, since the campaign's time was over"
