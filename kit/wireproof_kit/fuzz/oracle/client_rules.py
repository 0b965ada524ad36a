"""The rules that a client must keep, whatever its server sends."""

from typing import Final

ENDED: Final = "ended"
STUCK: Final = "stuck"
NOT_GIVEN: Final = "not-given"
SPINS: Final = "spins"
HOARDS: Final = "hoards"

CLIENT_MEANINGS: Final = {
    ENDED: "the process ended",
    STUCK: "the client did not come back to work",
    NOT_GIVEN: "the client acknowledged, or told its user, what it was not given",
    SPINS: "the client tries again and again without a pause",
    HOARDS: "the client takes more memory than it can need",
}
"""What each rule forbids a client under test, in words for people."""
