"""The fuzz case that is being tried with a client."""

from dataclasses import dataclass

from wireproof_kit.fuzz.case import Case


@dataclass(slots=True)
class Attempt:
    """The fuzz case that is being tried with a client, since the time ``began``.

    ``place`` is the event whose usual answer the case replaces, such as ``lookup``, and ``conn``
    the connection that the case was sent on. ``is_controlled``: the check that the client
    still works has begun.
    """

    number: int
    case: Case
    place: str
    began: float
    conn: str = ""
    is_sent: bool = False
    is_complete: bool = False
    is_controlled: bool = False
