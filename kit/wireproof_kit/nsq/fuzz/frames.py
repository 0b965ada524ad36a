"""Strategies for valid frames of every command, derived from their schemas."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from wireproof_kit.fuzz.case import Frame, Role
from wireproof_kit.fuzz.generate import field_map
from wireproof_kit.fuzz.generate.grammar import Kind, never
from wireproof_kit.fuzz.generate.json_documents import texts
from wireproof_kit.fuzz.generate.values import Made, Rules, values
from wireproof_kit.nsq.fuzz.names import Names
from wireproof_kit.nsq.fuzz.states import ALL, FRESH, HANDSHAKE, IN_FLIGHT, NAMED, SUBSCRIBED
from wireproof_spec.decoding import Schema
from wireproof_spec.nsq import acknowledge, limits, names
from wireproof_spec.nsq.acknowledge import MESSAGE_ID_SIZE
from wireproof_spec.nsq.command import COMMAND_LINE, CommandLine
from wireproof_spec.nsq.command_reader import BODIES
from wireproof_spec.nsq.magic import MAGIC, Magic
from wireproof_spec.nsq.parameters import PARAMETERS, Parameter
from wireproof_spec.outline import outline

TCP = "tcp"
MOSTLY = 4
"""How often the usual value is among the choices, beside values that brokers read differently."""

_ROLES: Mapping[str, Role] = {
    "json": "json",
    "json_header": "json",
    "messages[].json_header": "json",
}
_WORD_ROLES: Mapping[str, Role] = {"topic_partition": "number", "count": "number"}
_LINE_ROLES: Mapping[str, Role] = {"name": "fixed"}

_TAG = st.text("abcdefgh", min_size=1, max_size=8)
_ACKNOWLEDGEMENTS: Mapping[bytes, Schema[Any]] = {
    names.FIN: acknowledge.FINISH,
    names.REQ: acknowledge.REQUEUE,
    names.TOUCH: acknowledge.TOUCH,
}
STATES: Mapping[bytes, tuple[str, ...]] = {
    names.IDENTIFY: HANDSHAKE,
    names.AUTH: HANDSHAKE,
    names.SUB: NAMED,
    names.SUB_ORDER: NAMED,
    names.SUB_ORDERED: NAMED,
    names.SUB_ADVANCED: NAMED,
    names.RDY: SUBSCRIBED,
    names.FIN: IN_FLIGHT,
    names.REQ: IN_FLIGHT,
    names.TOUCH: IN_FLIGHT,
    names.CLS: SUBSCRIBED,
    names.INTERNAL_CREATE_TOPIC: HANDSHAKE,
}
"""States that allow a command; a command not listed is allowed wherever the magic was sent."""


_PUBLISHING = frozenset(
    (
        *(names.PUB, names.PUB_TRACE, names.PUB_EXT),
        *(names.MPUB, names.MPUB_TRACE, names.MPUB_EXT),
    )
)


def kinds(there: Names) -> Iterator[Kind]:
    """Yield the kind of frame for each command and for the magic, with names on the target."""
    yield Kind("magic", TCP, st.just(field_map.frame("magic", MAGIC, Magic())), (FRESH,))
    for name in PARAMETERS:
        made = _command(name, there)
        calm = _Calm(there.partition).is_calm if name in _PUBLISHING else never
        yield Kind(name.decode(), TCP, made, STATES.get(name, ALL), calm)
    for name, schema in _ACKNOWLEDGEMENTS.items():
        yield Kind(name.decode(), TCP, framed_values(name.decode(), schema), STATES[name])


def framed_values(kind: str, schema: Schema[Any]) -> st.SearchStrategy[Frame]:
    """Return a strategy for valid values of a schema, as frames of a kind."""
    return values(outline(schema), _rules()).map(_Framing(kind, schema))


@dataclass(frozen=True, slots=True)
class _Calm:
    """Recognises publish lines whose destination every broker reads in the same way."""

    partition: int

    def is_calm(self, frame: Frame) -> bool:
        """Return True if the line names a topic and one of its partitions."""
        words = frame.data.partition(b"\n")[0].rstrip(b"\r").split(b" ")
        return words[2:] == [b"%d" % self.partition]


@dataclass(frozen=True, slots=True)
class _Framing:
    """Builds frames of one kind from values of its schema."""

    kind: str
    schema: Schema[Any]

    def __call__(self, value: object) -> Frame:
        """Build the frame and locate its fields."""
        return field_map.frame(self.kind, self.schema, value, _ROLES)


def _command(name: bytes, there: Names) -> st.SearchStrategy[Frame]:
    words = st.tuples(*(_words(each, there) for each in PARAMETERS[name]))
    all_words, needed = len(PARAMETERS[name]), sum(each.needed for each in PARAMETERS[name])
    counts = st.sampled_from([all_words] * MOSTLY + list(range(needed, all_words)))
    given = st.tuples(words, counts).map(lambda drawn: drawn[0][: drawn[1]])
    line = st.builds(CommandLine, st.just(name), given, st.booleans()).map(_line)
    schema = BODIES.get(name)
    if schema is None:
        return line
    body = framed_values(name.decode(), schema)
    return st.tuples(line, body).map(lambda both: field_map.join_frames(name.decode(), *both))


def _line(value: CommandLine) -> Frame:
    """Build a command line whose words are labelled with their parameter names."""
    kind = value.name.decode()
    built = field_map.frame(kind, COMMAND_LINE, value, _LINE_ROLES)
    titles = {f"parameters[{n}]": each.name for n, each in enumerate(PARAMETERS[value.name])}
    fields = tuple(
        replace(
            field,
            path=(title := titles.get(field.path, field.path)),
            role=_WORD_ROLES.get(title, field.role),
        )
        for field in built.fields
    )
    return Frame(kind, built.data, fields)


def _words(parameter: Parameter, there: Names) -> st.SearchStrategy[bytes]:
    topics = st.sampled_from([there.extended] * MOSTLY + [there.plain])
    made: Mapping[str, Made] = {
        "topic_name": topics,
        "channel_name": st.sampled_from([there.channel, f"{there.channel}#ephemeral"]),
        "topic_partition": st.sampled_from([there.partition] * MOSTLY + [-1]),
        "count": st.integers(0, limits.MAX_RDY_COUNT),
        "consume_offset": st.just("special:-1"),
        "extend": st.sampled_from(["true", "false"]),
    }
    words = made[parameter.name].map(lambda word: str(word).encode())
    return words.filter(parameter.is_right)


def headers() -> st.SearchStrategy[bytes]:
    """Return a strategy for JSON headers that conform to the published text."""
    trace_id = st.integers(0, 2**64 - 1).map(str)
    return texts("nsq/ext-header", {names.CLIENT_DISPATCH_TAG: _TAG, names.TRACE_ID: trace_id})


def _rules() -> Rules:
    negotiates = st.sampled_from([True] * MOSTLY + [False])  # what is asked for depends on it
    said = texts(
        "nsq/identify-request", {names.DESIRED_TAG: _TAG, "feature_negotiation": negotiates}
    )
    both = st.tuples(st.integers(1, 2**63 - 1), st.integers(0, 2**64 - 1))
    ids = both.map(lambda ids: (ids[0] << 64 | ids[1]).to_bytes(MESSAGE_ID_SIZE, "big"))
    return {"json_header": headers(), "json": said, "message_id": ids}
