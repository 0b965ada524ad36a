"""Collects the messages of fuzz workers, writes the bundle and computes the conclusion."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

import msgspec

from wireproof.fuzzing.corpus import Corpus
from wireproof.running.interruption import BEFORE_FIRST
from wireproof.view.fuzzing import Conclusion, FuzzView, since_unwatched
from wireproof.view.output import echo
from wireproof_kit.bundle.file import BundleWriter
from wireproof_kit.errors import KitError
from wireproof_kit.fuzz.campaign.coverage import Coverage
from wireproof_kit.fuzz.campaign.gaps import find_gaps
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.records import finding_case
from wireproof_kit.fuzz.campaign.workers import Ended, News, Opened, Status
from wireproof_kit.protocols import kit_part
from wireproof_kit.verdicts.deviations import Deviation, mark_finding
from wireproof_kit.version import KIT_VERSION
from wireproof_reports.exchange.annotation import read_bytes
from wireproof_reports.exchange.reproducer import script
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.extras import install_command
from wireproof_spec.fuzz_record import CampaignRecord, FindingRecord
from wireproof_spec.private_file import make_own
from wireproof_spec.record import FORMAT, FooterRecord, HeaderRecord, TargetRecord
from wireproof_spec.step_notes import EXERCISE, RESTARTED


def folder_of(bundle: Path) -> Path:
    """Return the folder beside a bundle that holds the files of its findings."""
    return bundle.with_name(f"{bundle.stem}-findings")


def write_files(bundle: Path, finding: FindingRecord, header: HeaderRecord) -> tuple[str, ...]:
    """Write the files of a finding beside the bundle; return which were left out, and why."""
    folder = folder_of(bundle)
    is_client = header.target.is_client()
    kinds = ("receive", "response") if is_client else ("send", "request")
    sent: dict[str, bytes] = {}
    for step in finding.transcript.steps:
        if step.kind in kinds:
            sent[step.conn] = sent.get(step.conn, b"") + read_bytes(step)
    notes = [step.note for step in finding.transcript.steps if step.kind == "note"]
    if not sent and not any(note.startswith((EXERCISE, RESTARTED)) for note in notes):
        return (f"{finding.id}: no exchange could be recorded, so there is no script",)
    folder.mkdir(parents=True, exist_ok=True)
    make_own(folder / f"{finding.id}.py").write_text(_write_script(finding, header))
    if not sent:
        return ()
    streams = [f"# connection {name}\n{data.hex()}\n" for name, data in sent.items()]
    make_own(folder / f"{finding.id}.hex").write_text("".join(streams))
    return _write_capture(folder / f"{finding.id}.pcapng", finding, header)


def _write_script(finding: FindingRecord, header: HeaderRecord) -> str:
    protocol = header.target.protocol
    known = kit_part(protocol)
    write = known.write_program_script
    if write is not None and (header.target.is_client() or known.open_adapter_fuzz_session):
        return write(finding, header.target.url)
    return script(finding_case(finding, protocol), header, finding)


def _write_capture(path: Path, finding: FindingRecord, header: HeaderRecord) -> tuple[str, ...]:
    from wireproof_kit import pcap

    if not pcap.is_installed():
        return (f"captures are left out: they need scapy ({install_command('pcap')})",)
    from wireproof_kit.pcap.exchange import exchange_of

    exchange = exchange_of(header, finding_case(finding, header.target.protocol))
    if exchange is not None:
        pcap.write(make_own(path), [exchange])
    return ()


FOUND, NOT_DONE, UNSURE, INTERRUPTED = 1, 2, 3, 130
TOO_SHORT = "no case was executed: the time was over before the target was ready; give more --time"


@dataclass(slots=True)
class FuzzRecorder:
    """Collects findings and figures that fuzz workers report, and writes them to the bundle."""

    bundle: Path
    protocol: str
    url: str
    given: tuple[str, ...]
    seed: int
    deviations: Sequence[Deviation]
    today: date
    view: FuzzView
    corpus: Corpus
    workers: int
    wanted: str
    role: str = ""
    plan: WorkerPlan | None = None
    findings: dict[str, FindingRecord] = field(default_factory=dict[str, FindingRecord])
    statuses: dict[int, Status] = field(default_factory=dict[int, Status])
    coverage: Coverage = field(default_factory=Coverage)
    failures: list[str] = field(default_factory=list[str])
    header: HeaderRecord | None = None
    _writer: BundleWriter | None = None
    _started: datetime = field(default_factory=lambda: datetime.now(UTC))
    _shared: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])

    def hear(self, news: News) -> None:
        """Process one message of a worker: its start, its progress, a finding, or its end."""
        if isinstance(news, Opened):
            self._open(news)
        elif isinstance(news, FindingRecord):
            self._take_finding(news)
        elif isinstance(news, Status):
            self.statuses[news.worker] = news
            self.view.went_on(list(self.statuses.values()), list(self.findings.values()))
        else:
            self._finish(news)

    def wait(self, what: str, seconds: float) -> None:
        """Show what the first case waits for, until the target is open."""
        if self.header is None:
            self.view.wait(what, seconds)

    def close(self, *, interrupted: bool) -> int:
        """Compute the campaign's result, complete the bundle and return the exit code.

        Raises:
            KitError: no case could be sent, for the reason that a worker gave.
        """
        if self._writer is None or self.header is None:
            if interrupted and not self.failures:
                echo(f"wireproof: {BEFORE_FIRST}", err=True)
                return INTERRUPTED
            raise KitError(self.failures[0] if self.failures else TOO_SHORT)
        campaign = self._campaign(interrupted=interrupted)
        if not (campaign.in_frame or campaign.reconnecting or interrupted or self.failures):
            self.failures.append(TOO_SHORT)
        code = self._code(campaign, interrupted=interrupted)
        for finding in self.findings.values():
            self._writer.add(finding)
        self._writer.add(campaign)
        footer = FooterRecord(
            verdicts=self._verdicts(),
            groups=(),
            coverage={"rows": len(self.coverage), "fields": len(self.coverage.fields())},
            exit=code,
            statement=_statement(campaign, self._verdicts()),
            interrupted=interrupted,
        )
        self._writer.close(footer)
        batch = campaign.next_batch
        with self._note_unwritable(f"--corpus {self.corpus.folder}"):
            self.corpus.stop(self.seed, batch, interrupted=interrupted, wanted=self.wanted)
        findings = tuple(self.findings.values())
        failures = tuple(self.failures)
        self.view.end(Conclusion(campaign, findings, footer, self.bundle, failures))
        return code

    def _open(self, news: Opened) -> None:
        if self.header is not None:
            return
        self.header = HeaderRecord(
            format=FORMAT,
            kit=KIT_VERSION,
            spec=load_catalogue(self.protocol).revisions,
            seed=self.seed,
            target=TargetRecord(self.url, self.protocol, news.fingerprint, self.given, self.role),
            claims={},
            readings={},
            patience={"answer": round(news.patience_s, 3)},
            started=self._started.isoformat(timespec="seconds"),
            command="fuzz",
        )
        self._writer = BundleWriter(self.bundle, self.header)
        self.view.opened(news.fingerprint)

    def _take_finding(self, record: FindingRecord) -> None:
        known = self.findings.get(record.id)
        if self.header is not None:
            record = mark_finding(record, self.deviations, self.header.target, self.today)
        is_new = known is None or (not known.shown and bool(record.shown))
        if known is not None and not is_new:
            seen = max(known.seen, record.seen)
            self.findings[record.id] = msgspec.structs.replace(known, seen=seen)
            return
        self.findings[record.id] = record
        if self._writer is not None and self.header is not None:
            self._writer.add(record)
            left_out: tuple[str, ...] = ()
            with self._note_unwritable(str(folder_of(self.bundle))):
                left_out = write_files(self.bundle, record, self.header)
            self.view.show_finding(record, left_out)
        if record.shown:
            with self._note_unwritable(f"--corpus {self.corpus.folder}"):
                self.corpus.keep(record)

    @contextmanager
    def _note_unwritable(self, folder: str) -> Generator[None]:
        """Note an unwritable folder and continue: the bundle has the findings as well."""
        try:
            yield
        except OSError as error:
            words = f"{folder}: cannot be written ({error.strerror})"
            self.failures += [] if words in self.failures else [words]

    def _finish(self, news: Ended) -> None:
        self.statuses[news.status.worker] = news.status
        self.coverage.merge(news.coverage)
        if news.failure:
            self.failures.append(news.failure)

    def _code(self, campaign: CampaignRecord, *, interrupted: bool) -> int:
        verdicts = self._verdicts()
        if interrupted:
            return INTERRUPTED
        if verdicts["fail"]:
            return FOUND
        if not campaign.in_frame + campaign.reconnecting or self.failures:
            return NOT_DONE
        return UNSURE if verdicts["unstable"] or campaign.gaps else 0

    def _verdicts(self) -> dict[str, int]:
        counts = {"fail": 0, "known": 0, "unstable": 0}
        for finding in self.findings.values():
            listed = finding.deviation
            if listed is not None and not listed.expired:
                counts["known"] += 1
            elif finding.shown:
                counts["fail"] += 1
            else:
                counts["unstable"] += 1
        return counts

    def _gaps(self, told: Sequence[Status]) -> tuple[str, ...]:
        """Return what the campaign did not look at, unless it ended early with a finding."""
        plan = self.plan
        is_ended = plan is not None and plan.stop_at_first and bool(self.findings)
        return () if plan is None or is_ended else find_gaps(plan, told, self.coverage)

    def _campaign(self, *, interrupted: bool) -> CampaignRecord:
        told = list(self.statuses.values())
        return CampaignRecord(
            seed=self.seed,
            seconds=round((datetime.now(UTC) - self._started).total_seconds(), 3),
            executed=sum(each.executed for each in told),
            in_frame=sum(each.counts.piped for each in told),
            in_frame_s=round(sum(each.counts.piped_s for each in told), 3),
            reconnecting=sum(each.counts.single for each in told),
            reconnecting_s=round(sum(each.counts.single_s for each in told), 3),
            skipped=sum(each.skipped for each in told),
            left_out=sum(each.left_out for each in told),
            not_again=sum(each.not_again for each in told),
            hunting_s=round(sum(each.hunting_s for each in told), 3),
            next_batch=min((each.batch for each in told), default=0),
            workers=self.workers,
            unwatched_s=since_unwatched(told),
            deaths=tuple(sorted(at_s for each in told for at_s in each.deaths)),
            repeated_deaths=sum(each.repeated_deaths for each in told),
            spared=sum(each.spared for each in told),
            gaps=() if interrupted else self._gaps(told),
            unjudged=_unjudged(told),
            coverage=self.coverage.as_json(),
        )


def _unjudged(told: Sequence[Status]) -> dict[str, dict[str, dict[str, int]]]:
    """Return how many cases were not judged in full, by why that was, frame and state."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for each in told:
        for (why, kind, state), count in sorted(each.counts.unjudged.items()):
            states = found.setdefault(why, {}).setdefault(kind, {})
            states[state] = states.get(state, 0) + count
    return found


def _statement(campaign: CampaignRecord, verdicts: dict[str, int]) -> str:
    found = ", ".join(f"{count} {name}" for name, count in verdicts.items() if count)
    nothing = "nothing found, but not all was looked at" if campaign.gaps else "nothing found"
    return f"{campaign.executed} cases in {campaign.seconds:.1f} s; {found or nothing}"
