"""Values drawn from the outline of a schema, with their bytes."""

from functools import singledispatch
from typing import Any

from hypothesis import strategies as st

from wireproof_spec import outline
from wireproof_spec.decoding import Schema, encode
from wireproof_spec.iggy import headers, identifier, partitioning, send_messages
from wireproof_spec.wire_error import WireError

OCTETS = st.binary(min_size=1, max_size=20)
LETTERS = st.text(min_size=1, max_size=20)
IDENTIFIERS = st.integers(0, 2**32 - 1).map(identifier.numeric) | LETTERS.map(identifier.named)
HEADERS = st.builds(headers.Header, LETTERS, st.integers(1, 15), OCTETS)
SENT = st.builds(
    send_messages.SentMessage,
    st.integers(0, 2**128 - 1),
    st.lists(HEADERS, max_size=3).map(tuple),
    OCTETS,
)
BOUNDED: dict[type, st.SearchStrategy[Any]] = {
    identifier.Identifier: IDENTIFIERS,
    headers.Header: HEADERS,
    send_messages.SentMessage: SENT,
    partitioning.Partitioning: st.builds(partitioning.Partitioning, st.integers(1, 3), OCTETS),
    send_messages.SendMessages: st.builds(
        send_messages.SendMessages,
        IDENTIFIERS,
        IDENTIFIERS,
        st.builds(partitioning.Partitioning, st.integers(1, 3), OCTETS),
        st.lists(SENT, min_size=1, max_size=3).map(tuple),
    ),
}
"""Values whose lengths have bounds of their own, of which an outline does not tell."""


@singledispatch
def values(drawn: object) -> st.SearchStrategy[Any]:
    raise TypeError(drawn)


@values.register
def _(drawn: outline.Whole) -> st.SearchStrategy[Any]:
    return st.integers(drawn.lowest, drawn.highest)


@values.register
def _(drawn: outline.Choice) -> st.SearchStrategy[Any]:
    return st.sampled_from(drawn.values)


@values.register
def _(drawn: outline.Real) -> st.SearchStrategy[Any]:
    return st.floats(width=32, allow_nan=False, allow_infinity=False)


@values.register
def _(drawn: outline.Letters) -> st.SearchStrategy[Any]:
    return st.text(max_size=20)


@values.register
def _(drawn: outline.Octets) -> st.SearchStrategy[Any]:
    size = drawn.size
    return st.binary(max_size=40) if size is None else st.binary(min_size=size, max_size=size)


@values.register
def _(drawn: outline.Word) -> st.SearchStrategy[Any]:
    return st.from_regex(drawn.pattern, fullmatch=True)


@values.register
def _(drawn: outline.Flag) -> st.SearchStrategy[Any]:
    return st.booleans()


@values.register
def _(drawn: outline.Tuple) -> st.SearchStrategy[Any]:
    return st.lists(values(drawn.each), max_size=4).map(tuple)


@values.register
def _(drawn: outline.Perhaps) -> st.SearchStrategy[Any]:
    return st.none() | values(drawn.present)


@values.register
def _(drawn: outline.Made) -> st.SearchStrategy[Any]:
    return values(drawn.origin).map(drawn.make)


@values.register
def _(drawn: outline.Parts) -> st.SearchStrategy[Any]:
    if drawn.value_type in BOUNDED:
        return BOUNDED[drawn.value_type]
    bare = (outline.Fixed, outline.Derived)
    parts = {name: values(part) for name, part in drawn.parts if not isinstance(part, bare)}
    names = set(drawn.value_type.__struct_fields__)
    absent = {name: st.none() for name in names - parts.keys()}
    return st.builds(drawn.value_type, **parts, **absent)


def built(schema: Schema[Any]) -> st.SearchStrategy[tuple[Any, bytes]]:
    """Draw values that fit the schema, with their bytes.

    An outline does not say which optional parts belong together: the encoder refuses the rest.
    """

    def both(value: object) -> tuple[object, bytes] | None:
        try:
            return value, encode(schema, value)
        except WireError:
            return None

    drawn = values(outline.outline(schema)).map(both)
    return drawn.filter(lambda pair: pair is not None)  # type: ignore[return-value]  # filtered
