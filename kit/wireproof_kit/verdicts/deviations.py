"""The deviations file: failures a vendor knows of, with a reason and a date they end.

An entry lists a root cause, one case with the signature of its failure, or a fuzz finding.
A listed failure is `known`; another failure of the same case is new; a listed case that passes,
and an entry past its date, are failures of the file itself.
"""

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import msgspec

from wireproof_kit.errors import UsageFault
from wireproof_kit.text_file import parse_toml, read_text
from wireproof_spec.clauses.catalogue import PASSING, is_below
from wireproof_spec.clauses.cause import cause_id
from wireproof_spec.clauses.loading import load_catalogue, named_fault
from wireproof_spec.clauses.toml_lines import describe_fault
from wireproof_spec.deviation_record import DeviationRecord
from wireproof_spec.fuzz_record import FindingRecord
from wireproof_spec.protocol import protocols
from wireproof_spec.record import CaseRecord, TargetRecord

LONGEST = timedelta(days=366)
FUZZ = "fuzz"
"""What an entry names as its clause if it lists a finding of the fuzzer."""
_WHAT = "deviations file"


class Deviation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One entry of the deviations file: a known failure that does not count until it expires.

    ``id`` is a case id or a prefix of ids. With ``signature``, the entry covers these cases where
    their failure has it. With ``cause`` it covers every case that fails for this root cause
    (`cause_id`), and ``id`` names the case that shows whether the cause is still there. Exactly
    one of the two is given. ``expires`` is the last day, in UTC. ``targets`` are patterns over
    the target's version; none means every version.
    """

    id: str
    clause: str
    reason: str
    expires: date
    signature: str = ""
    cause: str = ""
    since: date | None = None
    link: str = ""
    targets: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    deviation: tuple[Deviation, ...] = ()


@dataclass(frozen=True, slots=True)
class AppliedDeviations:
    """The records after known deviations were applied, and the problems in the file itself.

    ``stale`` names entries whose cases pass now, ``expired`` entries past their date,
    ``unseen`` entries whose cases were not selected.
    """

    records: tuple[CaseRecord, ...]
    stale: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()


def utc_date() -> date:
    """Return the date in UTC, with which expiry is compared: the same in each time zone."""
    return datetime.now(UTC).date()


def read_deviations(
    path: Path, *, known_ids: Iterable[str] | None, today: date
) -> tuple[Deviation, ...]:
    """Read and check a deviations file, and return its entries.

    Ids are checked against the known ones, if these are given.

    Raises:
        UsageFault: the file is missing or no TOML of this shape, an id is unknown, or an entry
            lasts longer than twelve months.
    """
    return parse_deviations(read_deviations_text(path), path, known_ids=known_ids, today=today)


def read_deviations_text(path: Path) -> str:
    """Return the text of a deviations file.

    Raises:
        UsageFault: the file cannot be read, is too large, or is not UTF-8.
    """
    return read_text(path, _WHAT)


def parse_deviations(
    text: str, path: Path, *, known_ids: Iterable[str] | None, today: date
) -> tuple[Deviation, ...]:
    """Return the entries in the text of a deviations file, after checking them.

    ``path`` is for error messages.

    Raises:
        UsageFault: the text is no TOML of this shape, an id is unknown, or an entry lasts
            longer than twelve months.
    """
    try:
        entries = msgspec.convert(parse_toml(text, path, _WHAT), _File).deviation
    except msgspec.ValidationError as error:
        raise UsageFault(f"{_WHAT} {path}{describe_fault(error, text, _File)}") from error
    ids = None if known_ids is None else tuple(known_ids)
    for entry in entries:
        _check(path, entry, ids, today)
    return entries


def is_known(entry_id: str, known_ids: Iterable[str]) -> bool:
    """Return True if ``entry_id`` is the id of a known case or a prefix of one.

    A known id that ends in a slash stands for all ids that begin with it.
    """
    return any(
        is_below(known, entry_id) or (known.endswith("/") and entry_id.startswith(known))
        for known in known_ids
    )


def absence(entry: Deviation, known_ids: Iterable[str]) -> str:
    """Return a sentence if an entry's case, way or clause does not exist; else empty text."""
    protocol = entry.id.partition("/")[0]
    if entry.clause == FUZZ:
        return ""
    if PASSING in entry.id:
        if protocol in protocols() and not _is_way_known(protocol, entry.id):
            return f"id {entry.id!r} names a clause or a way that the law does not have"
    elif not is_known(entry.id, known_ids):
        return f"id {entry.id!r} is no case and no prefix of one"
    if protocol in protocols() and load_catalogue(protocol).clause(entry.clause) is None:
        return f"{entry.id}: the law has no clause {entry.clause!r}"
    return ""


def _is_way_known(protocol: str, entry_id: str) -> bool:
    catalogue = load_catalogue(protocol)
    try:
        catalogue.find_ways(entry_id)
    except KeyError:
        return False
    return catalogue.find_law(entry_id) is not None


def apply(
    records: Sequence[CaseRecord],
    entries: Sequence[Deviation],
    *,
    version: str,
    today: date,
) -> AppliedDeviations:
    """Change the verdict of listed failures to `known`, and report stale and expired entries.

    A failure whose only entry is past its date stays a failure, and its reason names that entry.
    """
    valid = [entry for entry in entries if _is_about(entry, version)]
    live = [entry for entry in valid if entry.expires >= today]
    return AppliedDeviations(
        records=tuple(_mark_record(record, valid, today) for record in records),
        stale=tuple(entry.id for entry in live if _passes(entry, records)),
        expired=tuple(entry.id for entry in valid if entry.expires < today),
        unseen=tuple(entry.id for entry in live if not _is_seen(entry, records)),
    )


def name_finding(finding: FindingRecord, protocol: str) -> str:
    """Return the id of the entry that lists a finding: protocol, violated rule and finding."""
    return f"{protocol}/{FUZZ}/{finding.violated}/{finding.id}"


def mark_finding(
    finding: FindingRecord, entries: Iterable[Deviation], target: TargetRecord, today: date
) -> FindingRecord:
    """Return the finding, marked with the entry that lists it longest, if one does."""
    name = name_finding(finding, target.protocol)
    about = [
        entry
        for entry in entries
        if entry.clause == FUZZ
        and entry.signature == finding.id
        and is_below(name, entry.id)
        and _is_about(entry, target.fingerprint.get("version", ""))
    ]
    if not about:
        return finding
    entry = max(about, key=lambda entry: entry.expires)
    listed = DeviationRecord(entry.id, entry.expires.isoformat(), entry.expires < today)
    return msgspec.structs.replace(finding, deviation=listed)


def to_toml(entries: Iterable[Deviation], comments: Mapping[str, Sequence[str]] = {}) -> str:
    """Return deviations as the text of a deviations file, with keys in a fixed order.

    ``comments`` are lines to be written above entries, by the entry's id.
    """
    blocks: list[str] = []
    for entry in entries:
        fields = msgspec.to_builtins(entry, builtin_types=(date,))
        above = [f"# {line}" for line in comments.get(entry.id, ())]
        lines = [f"{key} = {_toml_value(value)}" for key, value in fields.items()]
        blocks.append("\n".join([*above, "[[deviation]]", *lines]))
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _toml_value(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    return msgspec.json.encode(value).decode()


def _check(path: Path, entry: Deviation, ids: Sequence[str] | None, today: date) -> None:
    absent = "" if ids is None else absence(entry, ids)
    if absent:
        raise UsageFault(
            f"deviations file {path}: {absent}; if a revision of the law took it away, remove the "
            "entry with `wireproof baseline prune`"
        )
    if bool(entry.signature) == bool(entry.cause):
        raise UsageFault(
            f"deviations file {path}: {entry.id}: expected either `cause` or `signature`; "
            f"found {'both' if entry.cause else 'neither'}"
        )
    if not entry.reason.strip():
        raise UsageFault(f"deviations file {path}: {entry.id} has no reason")
    if entry.expires > (entry.since or today) + LONGEST:
        raise UsageFault(
            f"deviations file {path}: {entry.id} expires {entry.expires}; "
            "expected at most twelve months from now (or from `since`)"
        )


def _is_about(entry: Deviation, version: str) -> bool:
    return not entry.targets or any(fnmatch.fnmatchcase(version, p) for p in entry.targets)


def _cases(entry: Deviation, records: Sequence[CaseRecord]) -> list[CaseRecord]:
    return [r for r in records if is_below(r.case, entry.id) and r.clause == entry.clause]


def _is_seen(entry: Deviation, records: Sequence[CaseRecord]) -> bool:
    return bool(_cases(entry, records)) or any(_lists(entry, record) for record in records)


def _passes(entry: Deviation, records: Sequence[CaseRecord]) -> bool:
    """Return True if the entry's cases pass, and no other case fails for its cause."""
    if any(record.verdict in ("fail", "known") and _lists(entry, record) for record in records):
        return False
    cases = _cases(entry, records)
    return bool(cases) and all(record.verdict in ("pass", "reading") for record in cases)


def _lists(entry: Deviation, record: CaseRecord) -> bool:
    """Return True if an entry lists a failure: its root cause, or its case with its signature.

    A fault that the observation names is one fault in whatever case it shows: a run of another
    selection meets it in cases that the file does not have.
    """
    if entry.cause:
        return entry.cause == cause_id(record)
    if entry.signature != record.signature:
        return False
    is_its_case = bool(_cases(entry, (record,)))
    return is_its_case or bool(named_fault(record.case, record.observation))


def _mark_record(record: CaseRecord, entries: Sequence[Deviation], today: date) -> CaseRecord:
    if record.verdict != "fail":
        return record
    about = [entry for entry in entries if _lists(entry, record)]
    if not about:
        return record
    entry = next((e for e in about if e.expires >= today), about[-1])
    expired = entry.expires < today
    listed = DeviationRecord(entry.id, entry.expires.isoformat(), expired)
    if expired:
        return msgspec.structs.replace(record, deviation=listed)
    reason = f"known until {entry.expires}: {entry.reason}"
    return msgspec.structs.replace(record, verdict="known", reason=reason, deviation=listed)
