"""The states of a message: codes in binary, names in JSON."""

AVAILABLE = 1
UNAVAILABLE = 10
POISONED = 20
MARKED_FOR_DELETION = 30

STATES = {
    AVAILABLE: "available",
    UNAVAILABLE: "unavailable",
    POISONED: "poisoned",
    MARKED_FOR_DELETION: "marked_for_deletion",
}

_CODES = {name: code for code, name in STATES.items()}


def state_name(code: int) -> str | None:
    """Return the name of a message state, or None for an unknown code."""
    return STATES.get(code)


def state_code(name: str) -> int | None:
    """Return the code of a message state, or None for an unknown name."""
    return _CODES.get(name)
