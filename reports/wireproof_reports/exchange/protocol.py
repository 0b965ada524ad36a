"""What a protocol provides for reports; a report works without any of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from wireproof_reports.exchange.annotation import Part
from wireproof_spec.protocol import (
    Group,
    UnknownProtocol,
    find_registered,
    note_flaw,
    package_of,
    part,
)
from wireproof_spec.record import DifferenceRecord


@dataclass(frozen=True, slots=True)
class Act:
    """One action of a reproduction script: a connection, what to do, and the bytes to send.

    A tuple mixes bytes and the numbers of received ids.
    """

    connection: str
    kind: str
    data: bytes | str | tuple[bytes | int, ...] = b""


@dataclass(frozen=True, slots=True)
class Plan:
    """The actions of a reproduction script, names that may be replaced, and setup commands.

    ``numbers`` in the bytes are replaced by random ones with as many digits, in little endian and
    in decimal digits. ``reader`` is the template with the functions `receive`, `alike`,
    `alike_http` and `message_id`, which read answers, and `current`, which adapts a request to
    the answers that came now; it needs the ``modules`` of the standard library. ``probe`` is a
    request that every target answers: silence shows that it hangs.
    ``secured`` are the acts of a login, `secure` and `secret`, that the target's options ask for;
    ``login`` is the template with the functions `secure`, `show_secret` and `log_in`, if the
    connections log in. ``exercises`` is the template with the function `exercise`, if clients of
    the fuzzer did something by themselves. ``arranged`` are the names and numbers that a campaign
    gave to what it created for its cases, by purpose. ``violated`` is the rule of a finding.
    ``may_be_refused``: the exchange is of a finding, or a conformant target may refuse a request.

    If the finding shows on other connections than those of its cases, ``due`` are the bodies of
    the messages that were acknowledged, and a planner gives the template with the functions
    `publishing`, `publish`, `reading` and `take` as ``bystanders``, and the topics to use as
    ``watched``, in the form that these functions take. If the target goes on listing clients that
    left, a planner gives ``listing``, the request whose answer lists all clients.
    """

    acts: tuple[Act, ...]
    names: tuple[bytes, ...] = ()
    numbers: tuple[int, ...] = ()
    create: tuple[bytes, ...] = ()
    reader: str = "reader.py.jinja"
    modules: tuple[str, ...] = ()
    probe: bytes = b""
    secured: frozenset[str] = frozenset()
    login: str = ""
    exercises: str = ""
    arranged: Mapping[str, str] = field(default_factory=dict[str, str])
    violated: str = ""
    due: tuple[bytes, ...] = ()
    bystanders: str = ""
    watched: tuple[tuple[bytes, ...], ...] = ()
    listing: bytes = b""
    may_be_refused: bool = False

    @property
    def is_beside(self) -> bool:
        """Whether the finding shows on other connections than those of its cases."""
        return self.violated in ("neighbour", "delivery", "round-trip")

    @property
    def is_lingering(self) -> bool:
        """Whether the finding shows in what the target says of connections that ended."""
        return self.violated == "lingers"

    @property
    def grows(self) -> str:
        """What of the target's process grows: memory, files, or nothing."""
        return self.violated if self.violated in ("memory", "files") else ""


Planner = Callable[[Plan], Plan]
"""Makes a plan fit for another run."""

Namer = Callable[[bytes, Sequence[bytes]], tuple[Part, ...]]
"""Names the parts of received bytes; takes them, and all that was sent before them."""

Presumption = Callable[[str, Sequence[str]], DifferenceRecord | None]
"""Says in which field an answer differs; takes the observation and what is accepted."""


@dataclass(frozen=True, slots=True)
class ReportPart:
    """What a protocol provides for reports; each function may be missing (None).

    ``parts`` names the parts of received bytes. ``presumption`` returns the field in which an
    answer differs. ``plan`` adapts an exchange for another run. ``http_behind`` is the usual
    distance from the target's port to its HTTP port. ``vendor`` returns the maker for a target's
    fingerprint. ``beyond_record`` are beginnings of the ids of cases that do what their record
    does not hold, such as moving a leader: they can be run again, but not replayed. ``addresses``
    are the options that name a further address of the target. ``pushed`` returns whether received
    bytes are a message that the target sent by itself.
    """

    parts: Namer | None = None
    presumption: Presumption | None = None
    plan: Planner | None = None
    http_behind: int | None = None
    vendor: Callable[[Mapping[str, str]], str] | None = None
    beyond_record: tuple[str, ...] = ()
    addresses: frozenset[str] = frozenset()
    pushed: Callable[[bytes], bool] | None = None


def report_part(protocol: str) -> ReportPart:
    """Return what a protocol provides for reports; an empty part if nothing is registered.

    It is empty, too, if the part of another package is broken: a report does without names, and
    its reader is told so.
    """
    if protocol not in find_registered(Group.REPORTS):
        return ReportPart()
    try:
        return part(Group.REPORTS, protocol, ReportPart)
    except UnknownProtocol as error:
        package = package_of(Group.REPORTS, protocol)
        if package is None:
            raise
        note_flaw(
            f"the package {package} is broken: {error}; in reports the parts of its frames have "
            "no names"
        )
        return ReportPart()
