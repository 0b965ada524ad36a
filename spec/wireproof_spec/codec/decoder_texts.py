"""Decoder source for words, decimal numbers and text."""

from wireproof_spec.codec.decoder import Decoder, read
from wireproof_spec.codec.reading import join_path, quote_path
from wireproof_spec.grammar import texts


@read.register(texts.Utf8)
def _(shape: texts.Utf8, to: Decoder, path: str) -> str:
    place = to.place
    octets, value = read(shape.subcon, to, path), to.name("text")
    found = f"shown({octets}[error.start:])"
    to.flush()
    with to.code.block("try:"):
        to.code.line(f"{value} = {octets}.decode()")
    with to.code.block("except UnicodeDecodeError as error:"):
        refused = f"refused({quote_path(path)}, {place}, 'UTF-8', {found})"
        to.code.line(f"raise {refused} from None")
    return value


@read.register(texts.Text)
def _(shape: texts.Text, to: Decoder, path: str) -> str:
    to.flush()
    place, match, value = to.place, to.name("match"), to.name("word")
    pattern = to.code.constant(shape.pattern.match, "pattern")
    to.code.line(f"{match} = {pattern}(data, {place})")
    with to.code.block(f"if {match} is None:"):
        found = f"shown(data[{place}:{place.behind(8)}])"
        to.code.line(f"raise refused({quote_path(path)}, {place}, {shape.kind!r}, {found})")
    to.code.line(f"{value} = {match}[0]")
    to.move(f"{match}.end()")
    return value


@read.register(texts.Decimal)
def _(shape: texts.Decimal, to: Decoder, path: str) -> str:
    return f"int({read(shape.digits, to, path)})"


@read.register(texts.Words)
def _(shape: texts.Words, to: Decoder, path: str) -> str:
    to.flush()
    words = to.name("words")
    to.code.line(f"{words} = []")
    to.move(str(to.place))
    start = to.place
    with to.block(f"while data.startswith(b' ', {start}):"):
        to.place = start.behind(1)
        word = read(shape.subcon, to, join_path(path, f"[{{len({words})}}]"))
        to.flush()
        to.code.line(f"{words}.append({word})")
        to.code.line(f"{start} = {to.place}")
    to.place = start
    return f"tuple({words})"


@read.register(texts.CarriageReturn)
def _(shape: texts.CarriageReturn, to: Decoder, path: str) -> str:
    to.flush()
    value, place = to.name("flag"), to.place
    to.code.line(f"{value} = data.startswith(b'\\r', {place})")
    to.move(f"{place} + {value}")
    return value
