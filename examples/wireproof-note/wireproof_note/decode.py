"""`wireproof decode --protocol note`: frames with their fields."""

from collections.abc import Iterator
from functools import partial

from wireproof.commands.protocol_decode import Decoder, Source, read_whole
from wireproof_kit.decoding.decoded import Broken, Decoded, Entry, JsonObject, TitledFormatter
from wireproof_kit.wire.outgoing import from_grammar
from wireproof_note.frame import FRAME, NAMES, Frame, Frames
from wireproof_spec.stream import NeedMore
from wireproof_spec.wire_error import WireError


def decoder() -> Decoder:
    """Return the decoder of this protocol's frames for ``wireproof decode``."""
    return Decoder(
        _decode,
        examples=(("wireproof decode --protocol note 0003016869", "a frame, as hex digits"),),
        about="A file holds the bytes of one direction of a connection.",
    )


def _decode(source: Source) -> Iterator[Entry]:
    data = read_whole(source)
    reader = Frames()
    reader.feed(data)
    try:
        while not isinstance(frame := reader.next(), NeedMore):
            built = from_grammar(FRAME, frame)
            kind = NAMES.get(frame.kind, "unknown")
            formatter = TitledFormatter(
                kind, partial(tuple, built.parts), partial(_objects, frame)
            )
            yield Decoded(kind, reader.offset - len(built.data), built.data, frame, formatter)
        reader.finish()
    except WireError as error:
        yield Broken(reader.offset, data[reader.offset :], error, tuple)


def _objects(frame: Frame) -> tuple[JsonObject, ...]:
    return ({"kind": frame.kind, "text": frame.text.decode("utf-8", "replace")},)
