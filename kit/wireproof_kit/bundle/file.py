"""The bundle, the one file that a run writes: a header, one record per case, a footer."""

import contextlib
import fcntl
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path

import msgspec

from wireproof_kit.bundle.abridge import Abridger, shorten_header
from wireproof_kit.errors import KitError, UsageFault
from wireproof_spec.fuzz_record import CampaignRecord, FindingRecord
from wireproof_spec.private_file import make_private
from wireproof_spec.record import (
    FORMAT,
    BundleRecord,
    CaseRecord,
    FooterRecord,
    HeaderRecord,
    WayRecord,
)
from wireproof_spec.record_file import (
    DAMAGED,
    UNREADABLE,
    count_inflated,
    open_bundle,
    read_lines,
    refuse_inflated,
    why_damaged,
    why_unreadable,
)
from wireproof_spec.wording import change_texts

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[BundleRecord] = msgspec.json.Decoder(BundleRecord)


class BundleWriter:
    """Writes a bundle line by line, so that an interrupted run keeps the records made so far.

    It holds a lock on the file: two writers would mix their lines and make the file unreadable.
    When a line cannot be written whole (a full disk), the file is cut after the last whole line.

    Raises:
        UsageFault: the file cannot be opened, or another run is writing it.
        KitError: a line cannot be written; all methods but ``abandon`` raise it as well.
    """

    def __init__(self, path: Path, header: HeaderRecord) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = make_private(path).open("ab", buffering=0)
        except OSError as error:
            raise UsageFault(f"--bundle {path}: cannot be written ({error.strerror})") from error
        try:
            refuse_locked(path, self._file)
        except UsageFault:
            self._file.close()
            raise
        if path.is_file():
            self._file.truncate(0)
        self._digest = hashlib.sha256()
        self._whole = 0
        self._records = 0
        self._failure = ""
        self._abridger = Abridger()
        self._write(shorten_header(header))

    def add(self, record: CaseRecord | WayRecord | FindingRecord | CampaignRecord) -> None:
        """Append one record: a case, a way, a fuzz finding or the summary of a campaign.

        Of an exchange that is too long for the reader, the beginning and the end are written.
        """
        if isinstance(record, CaseRecord):
            record = self._abridger.shorten(record)
        elif isinstance(record, WayRecord):
            shorter = self._abridger.shorten(record.result)
            record = msgspec.structs.replace(record, result=shorter)
        self._write(record)

    def close(self, footer: FooterRecord) -> FooterRecord:
        """Append the footer with the hash of all lines before it, and close the file."""
        sealed = msgspec.structs.replace(footer, sha256=self._digest.hexdigest())
        self._write(sealed)
        self._file.close()
        return sealed

    def abandon(self) -> None:
        """Close the file without a footer; the records written so far stay readable."""
        self._file.close()

    def _write(self, record: BundleRecord) -> None:
        if self._failure:
            raise KitError(self._failure)
        line = _encode(record) + b"\n"
        try:
            _write_all(self._file, line)
        except OSError as error:
            self._failure = self._cut_off(error)
            raise KitError(self._failure) from error
        self._digest.update(line)
        self._whole += len(line)
        self._records += 1

    def _cut_off(self, error: OSError) -> str:
        """Leave the whole records alone in the file, and return the sentence for the user."""
        with contextlib.suppress(OSError):  # a device cannot be cut
            self._file.truncate(self._whole)
        self._file.close()
        if not self._whole and self.path.is_file():
            self.path.unlink()
        kept = f"; it ends after {self._records} whole records" if self._records else ""
        advice = "make room or name another place, and run again"
        return f"--bundle {self.path}: cannot be written ({error.strerror}){kept}; {advice}"


def _write_all(file: RawIOBase, data: bytes) -> None:
    """Write without a buffer, which would hold back half a line until the file is closed."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) or 0 :]


def refuse_locked(path: Path, file: RawIOBase) -> None:
    """Lock a bundle's file until it is closed; a device such as ``/dev/null`` is not locked.

    Raises:
        UsageFault: another run has locked the file.
    """
    if not path.is_file():
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise UsageFault(
            f"--bundle {path}: another run is writing this file; name another"
        ) from error
    except OSError:  # a file system without locks
        return


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle read into memory; ``footer`` is None when the run was cut off."""

    path: Path
    header: HeaderRecord
    cases: tuple[CaseRecord, ...]
    footer: FooterRecord | None
    findings: tuple[FindingRecord, ...] = ()
    campaign: CampaignRecord | None = None
    ways: tuple[WayRecord, ...] = ()

    def why_empty(self) -> str:
        """Return why the bundle holds no cases, and what to do; empty if it holds some."""
        if self.cases:
            return ""
        if self.campaign is not None or self.findings:
            return (
                f"{self.path} is of a fuzz campaign; `wireproof replay ID --bundle {self.path}` "
                "repeats a finding"
            )
        if self.footer is None:
            return f"{self.path} is cut off: it ends without a case and without a footer"
        return f"{self.path} holds no cases; there is nothing to judge"


def read_bundle(path: Path) -> Bundle:
    """Read a whole bundle file, compressed with gzip or not.

    Raises:
        UsageFault: the file is missing, empty, damaged, too large, no bundle, or of a newer
            format.
    """
    records = _records(path)
    header = next(records, None)
    if not isinstance(header, HeaderRecord):
        raise UsageFault(f"{path}: expected a bundle beginning with its header; found none")
    if header.format > FORMAT:
        raise UsageFault(
            f"{path}: bundle format {header.format} is newer than this kit's {FORMAT}; "
            "use a newer wireproof"
        )
    rest = list(records)
    cases = tuple(record for record in rest if isinstance(record, CaseRecord))
    # One that was seen again stands there again, with the last count.
    findings = tuple({r.id: r for r in rest if isinstance(r, FindingRecord)}.values())
    campaigns = [record for record in rest if isinstance(record, CampaignRecord)]
    last = rest[-1] if rest else None
    footer = last if isinstance(last, FooterRecord) else None
    ways = tuple(record for record in rest if isinstance(record, WayRecord))
    campaign = campaigns[-1] if campaigns else None
    return Bundle(path, header, cases, footer, findings, campaign, ways)


def _encode(record: BundleRecord) -> bytes:
    """Return a record as JSON; half a surrogate pair, which UTF-8 cannot hold, is escaped.

    Brokers' JSON may hold such halves: what was observed is to be kept, not to end the run.
    """
    try:
        return _ENCODER.encode(record)
    except UnicodeEncodeError:
        return _ENCODER.encode(change_texts(msgspec.to_builtins(record), _escape_surrogates))


def _escape_surrogates(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _records(path: Path) -> Iterator[BundleRecord]:
    digest = hashlib.sha256()
    inflated = 0
    try:
        with open_bundle(path) as file:
            for number, line in enumerate(read_lines(file), 1):
                record = _decode_line(path, number, line)
                inflated += count_inflated(record)
                refuse_inflated(inflated)
                _check_seal(path, record, digest.hexdigest())
                digest.update(line)
                yield record
    except UNREADABLE as error:
        raise UsageFault(f"{path}: cannot be read ({why_unreadable(error)})") from error


def _decode_line(path: Path, number: int, line: bytes) -> BundleRecord:
    try:
        return _DECODER.decode(line)
    except DAMAGED as error:
        raise UsageFault(
            f"{path}, line {number}: expected a bundle record; {why_damaged(error)}. "
            "Is this a bundle, and is it whole?"
        ) from error


def _check_seal(path: Path, record: BundleRecord, digest: str) -> None:
    if isinstance(record, FooterRecord) and record.sha256 != digest:
        raise UsageFault(
            f"{path}: the footer's hash expects {record.sha256[:12]}…, the lines give "
            f"{digest[:12]}…; the file was changed after the run"
        )
