"""Access of a case to the captured documents, by name."""

import hashlib
from collections.abc import Mapping, Sequence

from wireproof_kit.decoding.printable import printable
from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.oms.captured import CapturedDocument
from wireproof_kit.wire.transcript import Part, Transcript
from wireproof_spec.oms.document import Document, read
from wireproof_spec.oms.json_positions import TextPosition
from wireproof_spec.oms.names import Kind
from wireproof_spec.oms.rule_result import Breach
from wireproof_spec.oms.rules import RULES

FILE = "file"
MOST_TOLD = 4
BEFORE, AFTER = 24, 40
"""How many characters of a line are shown before and after an error in it."""


class Capture:
    """The captured documents of a target, as one run of a case uses them."""

    def __init__(
        self, documents: Mapping[str, CapturedDocument], kind: Kind, transcript: Transcript
    ) -> None:
        self._documents = documents
        self._kind = kind
        self._transcript = transcript

    def observe(self, document_name: str, clause: str) -> Observation:
        """Return the observation of a document under the rule of a clause, with the error's place.

        Raises:
            ArrangementFailed: the document is no longer there.
        """
        captured = self._documents.get(document_name)
        if captured is None:
            raise ArrangementFailed(
                f"the document {document_name} was there when the run began, and is not now"
            )
        document = read(captured.data, self._kind)
        self._note(captured)
        sight = RULES[clause](document)
        if not sight.faults:
            return observed(sight.state)
        for fault in sight.faults[:MOST_TOLD]:
            self._show(captured, document.place(fault))
        return _observation(sight.state, _FaultTexts(captured, document, sight.faults))

    def _note(self, captured: CapturedDocument) -> None:
        digest = hashlib.sha256(captured.data).hexdigest()[:16]
        note = f"{captured.name}: {len(captured.data)} bytes, sha256 {digest}"
        self._transcript.add("note", FILE, note=note)

    def _show(self, captured: CapturedDocument, place: TextPosition) -> None:
        """Record the line that contains the fault, or the text around it."""
        before = _text(captured.data[: place.offset]).rpartition("\n")[2][-BEFORE:]
        after = _text(captured.data[place.offset :]).partition("\n")[0][:AFTER]
        data, start = _bytes(before + after), len(_bytes(before))
        part = Part(start, len(data) - start, "here", wrong=True)
        where = _where(captured, place)
        self._transcript.add("text", FILE, data=data, parts=(part,), note=where)


class _FaultTexts:
    """The faults of a document, in words."""

    def __init__(
        self, captured: CapturedDocument, document: Document, faults: Sequence[Breach]
    ) -> None:
        self.faults = faults
        self.places = [document.place(fault) for fault in faults[:MOST_TOLD]]
        self.sentences = [
            f"{_where(captured, place)}{_pointer(fault)}: expected {fault.expected}, "
            f"found {fault.found}"
            for fault, place in zip(faults, self.places, strict=False)
        ]

    def note(self) -> str:
        more = len(self.faults) - len(self.sentences)
        told = "; ".join(self.sentences)
        return f"{told}; and {more} more" if more else told


def _observation(state: str, shown: _FaultTexts) -> Observation:
    first, place = shown.faults[0], shown.places[0]
    field = printable(first.pointer) or "document"
    difference = Difference(field, place.offset, first.expected, first.found)
    return observed(state, difference=difference, note=shown.note())


def _where(captured: CapturedDocument, place: TextPosition) -> str:
    line = (captured.line or 1) + place.line - 1
    return f"{captured.file} line {line}, column {place.column}"


def _pointer(fault: Breach) -> str:
    return f" ({printable(fault.pointer)})" if fault.pointer else ""


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
