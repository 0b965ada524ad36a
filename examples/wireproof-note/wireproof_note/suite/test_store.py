"""Storing texts; the catalogue judges the observations."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.observation import Observation, compared, observed
from wireproof_note.frame import REFUSED, STORE
from wireproof_note.session import Notebook, Received


@case("note/store/text", clause="note.store.frame")
@pytest.mark.parametrize("size", [1, 100, 60_000])
def test_text(notebook: Notebook, size: int) -> Observation:
    """STORE is answered with STORED and the same text."""
    return notebook.store(b"t" * size)


@case("note/store/empty", clause="note.store.refused")
def test_empty(notebook: Notebook) -> Observation:
    """STORE without a text is refused, and the connection stays open."""
    return _send_refused(notebook, STORE, b"")


@case("note/store/kind", clause="note.store.refused")
def test_kind(notebook: Notebook) -> Observation:
    """A frame of an unknown kind is refused, and the connection stays open."""
    return _send_refused(notebook, 9, b"text")


def _send_refused(notebook: Notebook, kind: int, text: bytes) -> Observation:
    answer = notebook.ask(kind, text)
    if not isinstance(answer, Received):
        return observed(answer.kind).on(answer)
    seen = observed("refused" if answer.frame.kind == REFUSED else "other").on(answer)
    after = notebook.store(b"next")
    if after.value == "stored":
        return seen.then("open")
    return compared(f"{seen.value},closed", seen, after)
