"""Workers of a campaign: one in this process, or several in processes of their own."""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeAlias

from wireproof_kit.errors import KitError, UsageFault
from wireproof_kit.fuzz.campaign.campaign import Campaign
from wireproof_kit.fuzz.campaign.coverage import Coverage
from wireproof_kit.fuzz.campaign.last_words import read_last_words
from wireproof_kit.fuzz.campaign.plan import FuzzTarget, WorkerPlan
from wireproof_kit.fuzz.campaign.program_campaign import ProgramCampaign
from wireproof_kit.fuzz.campaign.progress import CampaignListener, CampaignProgress
from wireproof_kit.fuzz.campaign.records import finding_record
from wireproof_kit.fuzz.campaign.target import AddressTarget, ReferenceTarget
from wireproof_kit.fuzz.driver import ClientFuzzSession, FuzzSessionOptions
from wireproof_kit.fuzz.send.counts import Counts
from wireproof_kit.fuzz.triage.finding import Finding
from wireproof_kit.processes.forked_broker import BrokerForkServer
from wireproof_kit.processes.worker_pool import JobLost, WorkerPool
from wireproof_kit.protocols import adapter_reference, kit_part, read_target
from wireproof_kit.targets.opening import check_beside
from wireproof_kit.targets.restart import restart_with
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.connection import accepts
from wireproof_spec.fuzz_record import FindingRecord

ENDS_WITHIN_S = 10.0
"""Seconds after which a worker that should stop, and reports nothing more, is killed."""
LOST = "worker {} ended without a last word: what it covered is not counted"


@dataclass(frozen=True, slots=True)
class TargetChoice:
    """The target of a campaign as the user chose it, in a form that workers can receive.

    It is a URL with keys, or the reference of a protocol with further options. `is_shared`:
    several workers use the target at that URL.
    """

    url: str = ""
    keys: tuple[tuple[str, str], ...] = ()
    protocol: str = ""
    extra: tuple[str, ...] = ()
    restart: str | None = None
    pid: int | None = None
    log: Path | None = None
    log_command: str | None = None
    token: str = "fuzz"
    timeout_s: float | None = None
    is_shared: bool = False


@dataclass(frozen=True, slots=True)
class Status:
    """The progress of one worker of a fuzz campaign, as reported by the worker."""

    worker: int
    batch: int = 0
    executed: int = 0
    skipped: int = 0
    left_out: int = 0
    not_again: int = 0
    hunting_s: float = 0.0
    counts: Counts = field(default_factory=Counts)
    rows: int = 0
    gone: str = ""
    unwatched_s: float | None = None
    deaths: tuple[float, ...] = ()
    repeated_deaths: int = 0
    spared: int = 0
    can_restart: bool = True


@dataclass(frozen=True, slots=True)
class Opened:
    """A worker's report after it opened the target: names, version and the like, and patience."""

    names: dict[str, str]
    fingerprint: dict[str, str]
    patience_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The last report of a worker: its status, its coverage, and why it failed if it did."""

    status: Status
    coverage: Coverage
    failure: str = ""


News: TypeAlias = Opened | Status | FindingRecord | Ended
Report: TypeAlias = Callable[[News], None]
Job: TypeAlias = tuple[TargetChoice, WorkerPlan]
Opener: TypeAlias = Callable[[Callable[[], bool]], ClientFuzzSession | None]


def run_workers(
    place: TargetChoice,
    plan: WorkerPlan,
    *,
    count: int,
    report: Report,
    is_interrupted: Callable[[], bool],
) -> None:
    """Run a campaign in this process or in several workers; ``report`` gets their reports."""
    with ExitStack() as stack:
        is_forked = place.protocol and not kit_part(place.protocol).adapter_reference
        server = BrokerForkServer(place.protocol) if is_forked else None
        if server is not None:
            stack.enter_context(server)
        if count == 1:
            _work(place, plan, report, is_interrupted, server)
            return
        stop = get_context("fork").Event()

        def work(job: Job, send: Report) -> None:
            _work(*job, send, stop.is_set, server)

        def attend() -> None:
            if is_interrupted():
                stop.set()

        pool = WorkerPool(work, count, ends_within_s=ENDS_WITHIN_S, attend=attend)
        news = stack.enter_context(closing(pool.run(_jobs(place, plan, count))))
        try:
            listen(news, report)
        finally:
            stop.set()


def _jobs(place: TargetChoice, plan: WorkerPlan, count: int) -> Iterator[Job]:
    for number in range(count):
        token = f"{place.token}{chr(ord('a') + number)}"
        yield (
            replace(place, token=token, is_shared=True),
            replace(plan, worker=number, workers=count),
        )


def listen(news: Iterable[tuple[Job, News | JobLost]], report: Report) -> None:
    """Pass the reports of workers to ``report``; a worker lost without a final one has failed."""
    last: dict[int, Status] = {}
    ended: set[int] = set()
    for (_, plan), each in news:
        number = plan.worker
        if isinstance(each, JobLost):
            if number not in ended:
                status = last.get(number, Status(number))
                report(Ended(status, Coverage(), LOST.format(number)))
            continue
        if isinstance(each, Status):
            last[number] = each
        elif isinstance(each, Ended):
            ended.add(number)
        report(each)


def _work(
    place: TargetChoice,
    plan: WorkerPlan,
    report: Report,
    is_interrupted: Callable[[], bool],
    server: BrokerForkServer | None,
) -> None:
    with campaign_at(place, plan, _Reporter(report), is_interrupted, server) as campaign:
        failure = ""
        try:
            _refuse_dead(place)
            campaign.run()
        except KitError as error:
            failure = str(error)
        report(Ended(_status(campaign), campaign.batches.coverage, failure))


def _refuse_dead(place: TargetChoice) -> None:
    """Check the addresses beside a target that accepts connections.

    At a dead HTTP address, a right broker seemed to close every connection after a request.

    Raises:
        TargetUnreachable: one of them does not accept connections.
    """
    target = read_target(place.url, place.keys) if place.url else None
    if target is not None and target.host and accepts((target.host, target.port)):
        check_beside(target)


@contextmanager
def campaign_at(
    place: TargetChoice,
    plan: WorkerPlan,
    listener: CampaignListener,
    is_interrupted: Callable[[], bool] = lambda: False,
    server: BrokerForkServer | None = None,
) -> Generator[Campaign | ProgramCampaign]:
    """Yield the campaign of a plan; a reference started for it ends with the block."""
    open_session = _find_opener(place)
    if open_session is not None:
        yield ProgramCampaign(
            plan=plan,
            open_session=open_session,
            listener=listener,
            is_interrupted=is_interrupted,
        )
        return
    with fuzz_target_at(place, server) as fuzz_target:
        yield Campaign(
            plan=plan, fuzz_target=fuzz_target, listener=listener, is_interrupted=is_interrupted
        )


def _find_opener(place: TargetChoice) -> Opener | None:
    """Return what opens the program that is tried run by run; None for a broker."""
    if place.protocol:
        target = adapter_reference(place.protocol, place.extra)
    else:
        target = read_target(place.url, place.keys)
    if target is None:
        return None
    if target.is_client():
        return partial(_open_client, target, place.timeout_s)
    opened = kit_part(target.protocol).open_adapter_fuzz_session
    if opened is None:
        return None
    options = FuzzSessionOptions(place.token, timeout_s=place.timeout_s)
    restart = None if place.restart is None else restart_with(place.restart)
    return lambda _: opened(target, options, restart)


def _open_client(
    target: Target, timeout_s: float | None, is_cut: Callable[[], bool]
) -> ClientFuzzSession | None:
    opened = kit_part(target.protocol).open_client_fuzz_session
    if opened is None:
        raise UsageFault(f"clients of protocol {target.protocol} cannot be fuzzed")
    return opened(target, timeout_s, is_cut)


@contextmanager
def fuzz_target_at(
    place: TargetChoice, server: BrokerForkServer | None = None
) -> Generator[FuzzTarget]:
    """Yield the chosen fuzz target; a reference started for it ends with the block.

    A reference is forked by the fork server if there is one, else it is a new process.
    """
    options = FuzzSessionOptions(place.token, timeout_s=place.timeout_s)
    if place.protocol:
        with server.connect() if server else nullcontext() as brokers:
            own = ReferenceTarget(place.protocol, options, place.extra, place.keys, brokers)
            with closing(own):
                yield own
        return
    restart = None if place.restart is None else restart_with(place.restart)
    target = read_target(place.url, place.keys)
    with read_last_words(place.log, place.log_command) as last_words:
        yield AddressTarget(target, options, restart, place.pid, last_words, place.is_shared)


@dataclass(slots=True)
class _Reporter:
    """Turns the events of a campaign into news."""

    report: Report
    is_opened: bool = False

    def on_open(self, campaign: CampaignProgress) -> None:
        """Report what is known of the target."""
        self._open(campaign)

    def went_on(self, campaign: CampaignProgress) -> None:
        """Report the progress."""
        self._open(campaign)
        self.report(_status(campaign))

    def on_finding(self, campaign: CampaignProgress, finding: Finding) -> None:
        """Report a finding."""
        self._open(campaign)
        self.report(finding_record(finding, campaign.names))

    def _open(self, campaign: CampaignProgress) -> None:
        if not self.is_opened:
            self.is_opened = True
            told = dict(campaign.fingerprint)
            self.report(Opened(dict(campaign.names), told, campaign.patience_s))


def _status(campaign: CampaignProgress) -> Status:
    return Status(
        campaign.plan.worker,
        campaign.batch,
        campaign.executed,
        campaign.batches.skipped,
        campaign.batches.left_out,
        campaign.findings.not_again,
        campaign.hunting_s,
        replace(campaign.counts),
        len(campaign.batches.coverage),
        campaign.gone,
        campaign.unwatched_s,
        tuple(death.at_s for death in campaign.history.deaths),
        campaign.history.repeated,
        campaign.batches.spared,
        campaign.can_restart,
    )
