"""Publishes of a client with a driver: each is what the driver was asked to publish."""

from collections.abc import Iterator, Mapping

from wireproof_kit.clients.events import Event
from wireproof_kit.clients.story import Story
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.nsq.clients.bodies import messages_of
from wireproof_kit.nsq.clients.driver_requests import PRODUCE
from wireproof_kit.nsq.clients.events import PUBLISHES, Commanded
from wireproof_kit.nsq.clients.node import header_of, trace_of
from wireproof_kit.nsq.observe.observations import find_difference
from wireproof_kit.proxy.checks import shown
from wireproof_spec.driver.lines import Fields, from_base64
from wireproof_spec.nsq import names
from wireproof_spec.nsq.names import is_header_name

UNALTERED, SHARD = "smart.client-publish.unaltered", "smart.client.shard"
_PUB_EXT, _PUB_TRACE = names.PUB_EXT.decode(), names.PUB_TRACE.decode()
_LINES = {_PUB_EXT: "ext.client-header.publish", _PUB_TRACE: "smart.client.trace-publish"}
"""The clause about the line of a publish, if it is not that of PUB."""


def line_clause(command: Commanded) -> str:
    """Return the clause about topic and partition in a publish."""
    return _LINES.get(command.name, "smart.client-send.publish")


class PublishedChecks:
    """Compares each publish with the requests to the driver that have its body."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._partitions: dict[str, int] = {}
        """The partition to which each sharding id was published first."""

    def see(self, event: Event) -> Iterator[Finding]:
        """Yield what a publish shows; without a driver nobody knows what it is to be."""
        asked = [request for request in self._story.requests.values() if request["op"] == PRODUCE]
        if not (asked and isinstance(event, Commanded) and event.name in PUBLISHES):
            return
        for body in messages_of(event):
            found = [each for each in asked if _body_of(each) == body]
            if found:
                yield shown(UNALTERED)
                yield from self._compare(event, found)
            else:
                due = _body_of(asked[-1])
                difference = find_difference("body", expected=due, found=body)
                what = f"{event.name} with a body that the user did not give"
                yield shown(UNALTERED, what, difference)

    def _compare(self, event: Commanded, asked: list[Fields]) -> Iterator[Finding]:
        topics = {str(each["topic"]) for each in asked}
        what = "" if set(event.words[:1]) <= topics else f"{event.name} for another topic"
        yield shown(line_clause(event), what)
        if len(asked) > 1:
            return  # which of the requests it carries out is not shown
        (request,) = asked
        if event.name == _PUB_EXT:
            yield from _header(request, header_of(event))
        elif event.name == _PUB_TRACE and "trace_id" in request and "key" not in request:
            # go-nsq traces a message with a sharding id by the hash of that id.
            right = trace_of(event) == int(str(request["trace_id"]))
            what = f"trace id {trace_of(event)} instead of {request['trace_id']}"
            yield shown("smart.client-send.trace", "" if right else what)
        if request.get("key") and event.partition is not None:
            key = str(request["key"])
            first = self._partitions.setdefault(key, event.partition)
            what = f"{key} to partition {event.partition}, and to {first} before"
            yield shown(SHARD, "" if first == event.partition else what)


def _body_of(request: Fields) -> bytes:
    return from_base64(str(request["body"]))


def _header(request: Fields, found: Mapping[str, object]) -> Iterator[Finding]:
    """Return what the header of a PUB_EXT shows of the one that the user gave."""
    given = request.get("ext") or {}
    if not isinstance(given, dict) or not all(map(_is_legal, given.items())):
        return  # a client may refuse it, or make it legal
    own = {name: value for name, value in found.items() if not name.startswith("##")}
    what = "" if own == given else f"header {own} instead of {given}"
    yield shown("ext.client-header.publish", what)
    tag, trace = found.get(names.CLIENT_DISPATCH_TAG), found.get(names.TRACE_ID)
    if "tag" in request:
        what = "" if tag == request["tag"] else f"tag {tag!r} instead of {request['tag']!r}"
        yield shown("ext.client-header.tag", what)
    if "trace_id" in request:
        right = isinstance(trace, str) and trace.isdecimal()
        right = right and int(str(trace)) == int(str(request["trace_id"]))
        what = "" if right else f"trace id {trace!r} instead of {request['trace_id']!r}"
        yield shown("ext.client-header.trace", what)


def _is_legal(item: tuple[str, object]) -> bool:
    name, value = item
    return is_header_name(name) and not name.startswith("##") and isinstance(value, str)
