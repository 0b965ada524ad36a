"""Files that reproduce a finding: hex for a socket, a script, a capture."""

from pathlib import Path

from wireproof_kit.fuzz.campaign.records import finding_case
from wireproof_reports.exchange.evidence import read_bytes
from wireproof_reports.exchange.reproducer import script
from wireproof_spec.record import FindingRecord, HeaderRecord


def folder_of(bundle: Path) -> Path:
    """Return the folder for the files of a bundle's findings."""
    return bundle.with_name(f"{bundle.stem}-findings")


def write_files(bundle: Path, finding: FindingRecord, header: HeaderRecord) -> tuple[str, ...]:
    """Write the files of a finding; return which were left out and why."""
    folder = folder_of(bundle)
    folder.mkdir(parents=True, exist_ok=True)
    case = finding_case(finding, header.target.protocol)
    sent: dict[str, bytes] = {}
    for step in finding.transcript.steps:
        if step.kind == "send":
            sent[step.conn] = sent.get(step.conn, b"") + read_bytes(step)
    streams = [f"# connection {name}\n{data.hex()}\n" for name, data in sent.items()]
    (folder / f"{finding.id}.hex").write_text("".join(streams))
    if not sent:
        return (f"{finding.id}: no exchange could be recorded, so there is no script",)
    (folder / f"{finding.id}.py").write_text(script(case, header))
    return _write_capture(folder / f"{finding.id}.pcapng", finding, header)


def _write_capture(path: Path, finding: FindingRecord, header: HeaderRecord) -> tuple[str, ...]:
    from wireproof_kit import pcap

    if not pcap.is_installed():
        return ("captures are left out: they need scapy (pip install 'wireproof[pcap]')",)
    from wireproof_kit.pcap.exchange import exchange_of

    exchange = exchange_of(header, finding_case(finding, header.target.protocol))
    if exchange is not None:
        pcap.write(path, [exchange])
    return ()
