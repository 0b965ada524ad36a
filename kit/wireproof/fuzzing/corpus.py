"""The corpus folder: findings to try first, and the state of an interrupted campaign."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from wireproof_kit.errors import UsageFault
from wireproof_kit.fuzz.campaign.records import check_finding
from wireproof_kit.text_file import read_bytes
from wireproof_kit.version import KIT_VERSION
from wireproof_spec.fuzz_record import FindingRecord
from wireproof_spec.private_file import make_own
from wireproof_spec.step_record import Count

STATE = "campaign.json"
SEEDS = 1_000_000


class _Stopped(msgspec.Struct, frozen=True):
    """The position of a campaign when it stopped."""

    seed: int
    batch: Count
    interrupted: bool
    wanted: str
    kit: str
    protocol: str = ""
    """Empty in a corpus of an older kit."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """The folder that keeps findings and positions of fuzz campaigns; None if none was named."""

    folder: Path | None = None
    protocol: str = ""

    def check(self) -> None:
        """Check that the corpus folder belongs to this protocol.

        Raises:
            UsageFault: a campaign against another protocol left it.
        """
        stopped = self._read_stopped()
        if stopped is not None and stopped.protocol not in ("", self.protocol):
            words = f"expected a corpus of {self.protocol}, found one of {stopped.protocol}"
            raise UsageFault(f"--corpus {self.folder}: {words}; name another folder")

    def start(self, seed: int | None, wanted: str) -> tuple[int, int]:
        """Return the seed and the batch of cases to begin with: those of an interrupted campaign.

        ``wanted`` are the options that must be the same to continue it.
        """
        stopped = self._read_stopped()
        if stopped is not None and stopped.interrupted:
            same = stopped.wanted == wanted and stopped.kit == KIT_VERSION
            if same and seed in (None, stopped.seed):
                return stopped.seed, stopped.batch
        return (secrets.randbelow(SEEDS) if seed is None else seed), 0

    def left_behind(self, seed: int, wanted: str) -> str:
        """Return why an interrupted campaign cannot be continued, as a sentence; empty if none."""
        stopped = self._read_stopped()
        if stopped is None or not stopped.interrupted:
            return ""
        reasons = {
            f"this one has seed {seed}": stopped.seed != seed,
            "this one has other --frames, --states or --drawn": stopped.wanted != wanted,
            f"it was of kit {stopped.kit}": stopped.kit != KIT_VERSION,
        }
        why = " and ".join(words for words, holds in reasons.items() if holds)
        where = f"--corpus {self.folder}: a campaign of seed {stopped.seed}"
        return f"{where} was interrupted and does not go on: {why}" if why else ""

    def findings(self) -> tuple[FindingRecord, ...]:
        """Return all findings stored in the folder, sorted by file name.

        Raises:
            UsageFault: a file is no finding.
        """
        return tuple(self._findings())

    def keep(self, record: FindingRecord) -> None:
        """Store a finding as a file of the folder."""
        if self.folder is not None:
            path = make_own(self.folder / f"{record.id}.json")
            path.write_bytes(msgspec.json.encode(record))

    def stop(self, seed: int, batch: int, *, interrupted: bool, wanted: str) -> None:
        """Store where the campaign stopped, so that the next one continues there."""
        if self.folder is not None:
            stopped = _Stopped(seed, batch, interrupted, wanted, KIT_VERSION, self.protocol)
            make_own(self.folder / STATE).write_bytes(msgspec.json.encode(stopped))

    def _findings(self) -> Iterator[FindingRecord]:
        if self.folder is None:
            return
        for path in sorted(self.folder.glob("*.json")):
            if path.name == STATE:
                continue
            try:
                found = msgspec.json.decode(read_bytes(path, "finding"), type=FindingRecord)
                check_finding(found)
            except ValueError as error:
                words = f"{path}: expected a finding; {error}; delete it, or keep it elsewhere"
                raise UsageFault(words) from error
            yield found

    def _read_stopped(self) -> _Stopped | None:
        path = self.folder / STATE if self.folder else None
        if path is None or not path.exists():
            return None
        try:
            return msgspec.json.decode(read_bytes(path, "state of a campaign"), type=_Stopped)
        except msgspec.DecodeError as error:
            words = f"{path}: expected where a campaign stopped; {error}; delete it to begin anew"
            raise UsageFault(words) from error


def open_corpus(folder: Path | None, protocol: str) -> Corpus:
    """Return the corpus of a protocol; create the folder if needed.

    Raises:
        UsageFault: the folder cannot be created, or the corpus is one of another protocol.
    """
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageFault(f"--corpus {folder}: cannot be used ({error.strerror})") from error
    corpus = Corpus(folder, protocol)
    corpus.check()
    return corpus
