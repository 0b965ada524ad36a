"""The bundle, the one file that a run writes: a header, one record per case, a footer."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from wireproof_kit.errors import UsageFault
from wireproof_spec.record import (
    FORMAT,
    BundleRecord,
    CampaignRecord,
    CaseRecord,
    FindingRecord,
    FooterRecord,
    HeaderRecord,
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

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[BundleRecord] = msgspec.json.Decoder(BundleRecord)


class BundleWriter:
    """Writes a bundle line by line, so that an interrupted run keeps the records made so far."""

    def __init__(self, path: Path, header: HeaderRecord) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._file: BinaryIO = path.open("wb")
        self._digest = hashlib.sha256()
        self._write(header)

    def add(self, record: CaseRecord | FindingRecord | CampaignRecord) -> None:
        """Append one record: a case, a fuzz finding or the summary of a campaign."""
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
        line = _encode(record) + b"\n"
        self._digest.update(line)
        self._file.write(line)
        self._file.flush()


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle read into memory; ``footer`` is None when the run was cut off."""

    path: Path
    header: HeaderRecord
    cases: tuple[CaseRecord, ...]
    footer: FooterRecord | None
    findings: tuple[FindingRecord, ...] = ()
    campaign: CampaignRecord | None = None


def read_bundle(path: Path) -> Bundle:
    """Read a whole bundle file, compressed with gzip or not.

    Raises:
        UsageFault: the file is missing, empty, damaged, too large, no bundle, or of a newer
            format.
    """
    records = list(_records(path))
    header, rest = (records[0], records[1:]) if records else (None, [])
    if not isinstance(header, HeaderRecord):
        raise UsageFault(f"{path}: expected a bundle beginning with its header; found none")
    if header.format > FORMAT:
        raise UsageFault(
            f"{path}: bundle format {header.format} is newer than this kit's {FORMAT}; "
            "use a newer wireproof"
        )
    cases = tuple(record for record in rest if isinstance(record, CaseRecord))
    # One that was seen again stands there again, with the last count.
    findings = tuple({r.id: r for r in rest if isinstance(r, FindingRecord)}.values())
    campaigns = [record for record in rest if isinstance(record, CampaignRecord)]
    last = rest[-1] if rest else None
    footer = last if isinstance(last, FooterRecord) else None
    return Bundle(path, header, cases, footer, findings, campaigns[-1] if campaigns else None)


def _encode(record: BundleRecord) -> bytes:
    """Return a record as JSON; half a surrogate pair, which UTF-8 cannot hold, is escaped.

    Brokers' JSON may hold such halves: what was observed is to be kept, not to end the run.
    """
    try:
        return _ENCODER.encode(record)
    except UnicodeEncodeError:
        return _ENCODER.encode(_escape_surrogates(msgspec.to_builtins(record)))


def _escape_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        pairs = cast(dict[object, object], value).items()
        return {_escape_surrogates(key): _escape_surrogates(each) for key, each in pairs}
    if isinstance(value, list | tuple):
        return [_escape_surrogates(each) for each in cast(Sequence[object], value)]
    return value


def remove_empty(path: Path) -> None:
    """Remove a regular file that is empty; a device such as ``/dev/null`` is left alone."""
    if path.is_file() and not path.stat().st_size:
        path.unlink()


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
