"""Captures of a bundle's cases, one file each, to open in Wireshark."""

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from wireproof_kit import pcap
from wireproof_kit.bundle.file import Bundle, read_bundle
from wireproof_kit.errors import UsageFault
from wireproof_kit.pcap.exchange import exchange_of
from wireproof_kit.protocols import kit_part
from wireproof_spec.private_file import make_own
from wireproof_spec.record import CaseRecord
from wireproof_spec.step_record import StepRecord

GREEN = ("pass", "reading", "unsupported")
MOST_BYTES = 128 << 20
"""Bytes of all steps in one set of captures. A run of all cases has 36 MB of them; a bundle of
less than a megabyte may hold 512 MiB, compressed."""
FORMATS = ("pcap", "pcap-all")
LONGEST_STEM = 150
"""Signs of a file's name; most file systems take 255 bytes."""
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


def write_failing(bundle: Path, out: Path) -> None:
    """Write a pcap file for each case or finding that did not conform; raises as `write_all`."""
    found = read_bundle(bundle)
    _write(found, (case for case in _cases(found) if case.verdict not in GREEN), out)


def write_all(bundle: Path, out: Path) -> None:
    """Write a pcap file for each case, and for each finding of the fuzzer, into a folder.

    Raises:
        UsageFault: the bundle cannot be read, or the extra ``pcap`` is not installed.
        OSError: a file cannot be written.
    """
    found = read_bundle(bundle)
    _write(found, _cases(found), out)


def describe_missing(asked: Mapping[str, Path]) -> str:
    """Return a sentence on captures left out because the extra is not installed, or nothing."""
    if pcap.is_installed():
        return ""
    named = [f"--{name} {asked[name]}" for name in FORMATS if name in asked]
    return f"{' and '.join(named)} left out: {pcap.MISSING}" if named else ""


def _cases(bundle: Bundle) -> Iterator[CaseRecord]:
    yield from bundle.cases
    if not bundle.findings:
        return
    from wireproof_kit.fuzz.campaign.records import finding_case

    for finding in bundle.findings:
        yield finding_case(finding, bundle.header.target.protocol)


def _write(bundle: Bundle, cases: Iterator[CaseRecord], out: Path) -> None:
    if not pcap.is_installed():
        raise UsageFault(pcap.MISSING)
    chosen = list(cases)
    size = sum(_size(step) for case in chosen for step in case.transcript.steps)
    if size > MOST_BYTES:
        raise UsageFault(
            f"{bundle.path}: its captures would hold {size >> 20} MiB; expected at most"
            f" {MOST_BYTES >> 20} MiB, as of one run; --pcap writes those of failing cases alone"
        )
    out.mkdir(parents=True, exist_ok=True)
    taken: set[str] = set()
    for case in chosen:
        exchange = exchange_of(bundle.header, case)
        if exchange is not None:
            name = _file_name(case, taken)
            taken.add(name)
            pcap.write(make_own(out / name), [exchange])
    dissector = kit_part(bundle.header.target.protocol).dissector
    if taken and dissector is not None:
        shutil.copyfile(dissector, make_own(out / dissector.name))


def _size(step: StepRecord) -> int:
    return step.length if step.deflate else len(step.hex) // 2


def _file_name(case: CaseRecord, taken: set[str]) -> str:
    """Return a name for a case's file: its id, and its hash where another has that name."""
    stem, mark = (_UNSAFE.sub("_", text)[:LONGEST_STEM] for text in (case.case, case.case_hash))
    name = f"{stem}.pcapng"
    return f"{stem}-{mark[:8]}.pcapng" if name in taken else name
