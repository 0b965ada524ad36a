"""Lines, identities and lookups of a client: alike on all of its connections in one case."""

from collections.abc import Iterator

from wireproof_kit.clients.events import Event, Given
from wireproof_kit.clients.story import Story
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.nsq.clients.driver_requests import CONSUME
from wireproof_kit.nsq.clients.events import (
    ORDERED,
    PUBLISHES,
    SUBSCRIPTIONS,
    Commanded,
    Requested,
    Responded,
)
from wireproof_kit.nsq.clients.rules.published import line_clause
from wireproof_kit.nsq.proxy.node_state import json_members
from wireproof_kit.proxy.checks import shown
from wireproof_spec.driver.lines import Fields
from wireproof_spec.nsq import names
from wireproof_spec.strict_json import JsonValue

_ACCESS = {"consumer": "r", "producer": "w"}


class SubscribedChecks:
    """Compares what a client sends on a connection with what it sent on earlier ones."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._identities: dict[str, dict[str, JsonValue]] = {}
        self._subscribed: list[dict[str, JsonValue]] = []
        """What the client said of itself on each connection on which it has subscribed."""
        self._named: set[int] = set()
        """The partitions that lookup answers have named."""
        self._names_partition = self._is_ordered = False
        self._role = ""
        self._has_access = False

    def see(self, event: Event) -> Iterator[Finding]:
        """Yield which clauses an event shows to be kept or broken."""
        if isinstance(event, Given):
            self._role = event.values.get("role", "")
        elif isinstance(event, Responded):
            self._named |= _partitions(event.data)
        elif isinstance(event, Requested) and event.path == "/lookup":
            yield from self._look_up(event)
        elif isinstance(event, Commanded) and event.name == names.IDENTIFY.decode():
            self._identities[event.conn] = json_members(event.body)
        elif isinstance(event, Commanded) and event.name in SUBSCRIPTIONS:
            yield from self._partition(event, _line_clause(event))
            yield from self._subscribe(event)
        elif isinstance(event, Commanded) and event.name in PUBLISHES:
            yield from self._partition(event, line_clause(event))

    def _look_up(self, event: Requested) -> Iterator[Finding]:
        access, due = event.value("access"), _ACCESS.get(self._role)
        self._has_access = self._has_access or access is not None
        if due is not None and self._has_access:
            what = "" if access == due else f"a {self._role} looks up with access={access}"
            yield shown("smart.client.lookup-access", what)

    def _partition(self, event: Commanded, clause: str) -> Iterator[Finding]:
        """Return what the partition in a command shows; a client of the original names none."""
        number, line = event.partition, event.line.decode("latin-1").strip()
        self._names_partition = self._names_partition or number is not None
        if number is None:
            what = f"no partition: {line}" if self._names_partition else ""
            yield shown(clause, what)
        elif self._named:
            known = number in self._named
            yield shown(clause, "" if known else f"a partition that no lookup names: {line}")

    def _subscribe(self, event: Commanded) -> Iterator[Finding]:
        asked = [request for request in self._story.requests.values() if request["op"] == CONSUME]
        if asked:
            dues = {(str(each["topic"]), str(each["channel"])) for each in asked}
            what = "" if event.words[:2] in dues else f"{event.name} {' '.join(event.words)}"
            yield shown(_line_clause(event), what)
        if asked and all(each.get("ordered") is True for each in asked):
            self._is_ordered = self._is_ordered or event.name in ORDERED
            wrong = self._is_ordered and event.name not in ORDERED
            what = f"{event.name} on an ordered topic" if wrong else ""
            yield shown("smart.client.order-each", what)
        identity = self._identities.get(event.conn)
        if identity is not None:
            yield from self._compare(identity, asked)
            self._subscribed.append(identity)

    def _compare(self, identity: dict[str, JsonValue], asked: list[Fields]) -> Iterator[Finding]:
        """Compare an identity with those of connections on which the client subscribed before."""
        is_extended = identity.get(names.EXTEND_SUPPORT) is True
        has_been = {each.get(names.EXTEND_SUPPORT) is True for each in self._subscribed}
        is_ext = self._story.find_given("ext") != ""
        if is_ext and True in has_been:
            what = "" if is_extended else "no extend_support, which an earlier connection had"
            yield shown("ext.client.identify", what)
        elif not is_ext and False in has_been:
            what = "extend_support, which no earlier connection had" if is_extended else ""
            yield shown("ext.client-header.identify-plain", what)
        tags = {str(tag) for each in asked if (tag := each.get("tag"))}
        told = {str(each.get(names.DESIRED_TAG)) for each in self._subscribed}
        if tags & told:
            tag = identity.get(names.DESIRED_TAG)
            what = "" if tag in tags else f"desired_tag {tag!r} instead of {tags}"
            yield shown("ext.client-header.desired-tag", what)


def _line_clause(event: Commanded) -> str:
    is_ordered = event.name in ORDERED
    return "smart.client.order-each" if is_ordered else "smart.client-send.subscribe"


def _partitions(data: bytes) -> set[int]:
    """Return the partitions that the answer of a lookup server names, in either form."""
    answer = json_members(data.partition(b"\r\n\r\n")[2])
    inner = answer.get("data")
    named = (inner if isinstance(inner, dict) else answer).get("partitions")
    return {int(each) for each in named if each.isdecimal()} if isinstance(named, dict) else set()
