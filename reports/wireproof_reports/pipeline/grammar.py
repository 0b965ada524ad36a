"""Counts which fields of which frames a bundle's cases sent, and with how many values."""

import re
from collections import Counter
from collections.abc import Iterator

from wireproof_reports.pipeline.rows import Row, Subject
from wireproof_spec.record import CampaignRecord, CaseRecord, StepRecord

_SENT = frozenset({"send", "request"})
_CUT = " (cut)"
_INDEX = re.compile(r"\[\d+\]")
_CODE = re.compile(r"^code = \d+ \((\w+)\)")
_WORDS = re.compile(rb"^([A-Z][A-Z_]+)(?: (/[\w/.-]*))?(?=[ ?\n\r]|$)")
_HEAD_BYTES = 256

VALUES_KEPT = 1000
"""Different values of one field that are told apart; more of them count as so many."""


class Grammar:
    """The fields that the cases of one bundle sent, with counts."""

    def __init__(self) -> None:
        self._sent: Counter[tuple[str, str, str]] = Counter()
        self._values: dict[tuple[str, str, str], set[str]] = {}

    def add(self, record: CaseRecord) -> None:
        """Count the frames of one case."""
        for step in record.transcript.steps:
            if step.kind in _SENT and step.parts:
                self._add(step)

    def add_campaign(self, record: CampaignRecord) -> None:
        """Add the counts of a fuzz campaign, by frame, field, mutation and state."""
        for frame, fields in record.coverage.items():
            for field, mutations in fields.items():
                for mutation, states in mutations.items():
                    key = frame, _INDEX.sub("[]", field), mutation
                    self._sent[key] += sum(states.values())

    def rows(self, subject: Subject) -> Iterator[Row]:
        """Return a row for each field of each frame, sorted by name."""
        for key, sent in sorted(self._sent.items()):
            frame, field, way = key
            told: Row = {"frame": frame, "field": field, "way": way, "sent": sent}
            yield {**subject.columns(), **told, "values": len(self._values.get(key, ()))}

    def _add(self, step: StepRecord) -> None:
        frame = frame_of(step)
        for _, _, label, is_wrong in step.parts:
            told = label.removesuffix(_CUT)
            name, _, value = told.partition(" = ")
            way = "wrong" if is_wrong else "cut" if told != label else "whole"
            key = frame, _INDEX.sub("[]", name), way
            self._sent[key] += 1
            kept = self._values.setdefault(key, set())
            if len(kept) < VALUES_KEPT:
                kept.add(value)


def frame_of(step: StepRecord) -> str:
    """Return the command that a step sends: the name of its code, or its first words."""
    for _, _, label, _ in step.parts:
        coded = _CODE.match(label)
        if coded:
            return coded[1]
    words = _WORDS.match(_head(step))
    if words is None:
        return ""
    return " ".join(word.decode() for word in words.groups() if word)


def _head(step: StepRecord) -> bytes:
    try:
        return bytes.fromhex(step.hex[: 2 * _HEAD_BYTES]) if step.hex else step.data()
    except ValueError:
        return b""
