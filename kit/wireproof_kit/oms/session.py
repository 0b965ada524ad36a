"""A session with captured documents: it sends nothing and never waits."""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from wireproof_kit.errors import ArrangementFailed, UsageFault
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.capture import Capture
from wireproof_kit.oms.captured import CapturedDocument, documents_of
from wireproof_kit.runner.patience import Patience
from wireproof_kit.targets.session import Control, Probe, SessionOptions
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.oms.document import Gap, read
from wireproof_spec.oms.names import Kind

CAPTURE = "capture"
DOCUMENT_NAME = "document_name"
UNAVAILABLE = "unavailable"
DOCUMENTS = "documents"
"""The observation for capabilities that only a running system has."""


class DocumentSession:
    """A session with captured documents, which are read once for a run."""

    def __init__(self, documents: Sequence[CapturedDocument], kind: Kind) -> None:
        self.patience = Patience(answer=0.0, push=0.0, redelivery=0.0)
        self._documents = {document.name: document for document in documents}
        self._kind = kind
        self._fingerprint = _fingerprint(documents, kind)
        self._probes: dict[str, Callable[[], Observation]] = {
            "message": self._probe_message,
            "extension-header": self._probe_extension_header,
        }

    def begin(self, kinds: Counter[str]) -> None:
        """Do nothing: all documents are already captured."""

    def probe_capability(self, name: str) -> Probe:
        """Return the probe of a capability, which looks at the kinds of the documents."""
        probe = self._probes.get(name)
        return Probe(probe() if probe else observed(DOCUMENTS), Transcript())

    def probe_reading(self, name: str) -> Probe:
        """Return no reading, since documents do not show a server's behaviour."""
        note = f"{name} shows in behaviour alone, not in documents"
        return Probe(observed(UNAVAILABLE, note=note), Transcript())

    def bind(self, readings: Mapping[str, str | None]) -> None:
        """Do nothing: no reading changes the content of a document."""

    def prepare(self, kinds: Counter[str]) -> None:
        """Do nothing: documents need no preparation."""

    def arguments(self, names: Sequence[str], transcript: Transcript) -> dict[str, object]:
        """Return the kit objects that a case asks for by argument name, new for one run of it.

        A document's name comes from the case's id; without one, a single document is meant.
        """
        arguments: dict[str, object] = {}
        if CAPTURE in names:
            arguments[CAPTURE] = Capture(self._documents, self._kind, transcript)
        if DOCUMENT_NAME in names:
            if len(self._documents) > 1:
                raise ArrangementFailed("one document is needed, but the target has several")
            arguments[DOCUMENT_NAME] = next(iter(self._documents))
        return arguments

    def release(self, arguments: Mapping[str, object]) -> None:
        """Do nothing: a case opens nothing."""

    def control(self) -> Control:
        """Return a round trip of no duration, since documents need no connection."""
        return Control("prompt", 0.0)

    def is_alive(self) -> bool:
        """Return True, since documents cannot crash."""
        return True

    def fingerprint(self) -> dict[str, str]:
        """Return the number and kinds of the documents, and a digest of them all."""
        return self._fingerprint

    def close(self) -> None:
        """Do nothing: the session has nothing open."""

    def _probe_message(self) -> Observation:
        return observed("ok" if self._kind is Kind.MESSAGE else "extension-header-alone")

    def _probe_extension_header(self) -> Observation:
        if self._kind is Kind.EXTENSION_HEADER:
            return observed("ok")
        return observed("ok" if any(map(self._has_one, self._documents.values())) else "none")

    def _has_one(self, captured: CapturedDocument) -> bool:
        return not isinstance(read(captured.data, self._kind).extension_header, Gap)


def open_session(target: Target, options: SessionOptions) -> DocumentSession:
    """Read the documents of a target.

    Raises:
        UsageFault: the documents cannot be read, are missing or too many, or have an unknown kind.
    """
    if options.topics:
        raise UsageFault("--topic cannot be used with documents; leave it out")
    return DocumentSession(documents_of(target), _kind(target))


def _fingerprint(documents: Sequence[CapturedDocument], kind: Kind) -> dict[str, str]:
    digest = hashlib.sha256()
    for document in documents:
        digest.update(f"{document.name}\0{len(document.data)}\0".encode())
        digest.update(document.data)
    count, files = len(documents), len({document.file for document in documents})
    return {
        "name": f"{count} document{'s'[: count > 1]} in {files} file{'s'[: files > 1]}",
        "kind": kind.value,
        "sha256": digest.hexdigest(),
    }


def _kind(target: Target) -> Kind:
    if target.kind is None:
        return Kind.MESSAGE
    known = [kind.value for kind in Kind]
    if target.kind not in known:
        raise UsageFault(
            f"{target.url}: kind expected to be one of {', '.join(known)}; found {target.kind!r}"
        )
    return Kind(target.kind)
