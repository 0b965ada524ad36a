"""Workers of a campaign: one in this process, or several in processes of their own."""

import multiprocessing
import signal
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from typing import TypeAlias

from wireproof_kit.errors import KitError
from wireproof_kit.fuzz.campaign.campaign import Campaign
from wireproof_kit.fuzz.campaign.coverage import Coverage
from wireproof_kit.fuzz.campaign.plan import Arena, Plan
from wireproof_kit.fuzz.campaign.records import finding_record
from wireproof_kit.fuzz.campaign.target import AddressArena, ReferenceArena
from wireproof_kit.fuzz.driver import GroundsOptions
from wireproof_kit.fuzz.send.engine import Counts
from wireproof_kit.fuzz.triage.finding import Finding
from wireproof_kit.protocols import read_target
from wireproof_kit.targets.restart import restart_with
from wireproof_spec.record import FindingRecord

POLL_S = 0.2
ENDS_WITHIN_S = 10.0
"""A worker that was told to stop, and says nothing more, is killed after so long."""
LOST = "worker {} ended without a last word: what it covered is not counted"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the target is: a URL with keys, or the reference of a protocol with more options."""

    url: str = ""
    keys: tuple[tuple[str, str], ...] = ()
    protocol: str = ""
    extra: tuple[str, ...] = ()
    restart: str | None = None
    pid: int | None = None
    token: str = "fuzz"
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """How far a worker is."""

    worker: int
    batch: int = 0
    executed: int = 0
    skipped: int = 0
    left_out: int = 0
    not_again: int = 0
    hunting_s: float = 0.0
    counts: Counts = field(default_factory=Counts)
    rows: int = 0
    died: bool = False
    unwatched_s: float | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """What a worker learned of the target."""

    names: dict[str, str]
    fingerprint: dict[str, str]
    patience_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    """A worker's last word: its last status, all it covered, and why it could not go on."""

    status: Status
    coverage: Coverage
    failure: str = ""


News: TypeAlias = Opened | Status | FindingRecord | Ended
Tell: TypeAlias = Callable[[News], None]


def run_workers(
    place: Place, plan: Plan, *, count: int, tell: Tell, is_interrupted: Callable[[], bool]
) -> None:
    """Run a campaign with so many workers; `tell` hears all that they have to say."""
    if count == 1:
        _work(place, plan, tell, is_interrupted)
        return
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    crew: list[BaseProcess] = []
    heard: dict[Connection, int] = {}
    for number in range(count):
        ours, theirs = context.Pipe(duplex=False)
        own = replace(plan, worker=number, workers=count)
        at = replace(place, token=f"{place.token}{chr(ord('a') + number)}")
        crew.append(context.Process(target=_child, args=(at, own, theirs, stop), daemon=True))
        crew[-1].start()
        theirs.close()
        heard[ours] = number
    try:
        listen(heard, tell, is_interrupted, stop.set)
    finally:
        stop.set()
        for process in crew:
            process.join(ENDS_WITHIN_S)
            process.kill()
            process.join()


def listen(
    heard: Mapping[Connection, int],
    tell: Tell,
    is_interrupted: Callable[[], bool],
    stop: Callable[[], None],
) -> None:
    """Tell what workers say until all have ended; `heard` are their connections and numbers.

    One that ends without a last word has failed.
    """
    open_ones = dict(heard)
    last = {number: Status(number) for number in heard.values()}
    while open_ones:
        if is_interrupted():
            stop()
        for connection in wait(list(open_ones), POLL_S):
            assert isinstance(connection, Connection), "only those were waited for"
            try:
                news: News = connection.recv()
            except EOFError:
                lost = last.pop(open_ones.pop(connection), None)
                if lost is not None:
                    tell(Ended(lost, Coverage(), LOST.format(lost.worker)))
                continue
            if isinstance(news, Status):
                last[news.worker] = news
            elif isinstance(news, Ended):
                del last[news.status.worker]
            tell(news)


def _child(place: Place, plan: Plan, heard: Connection, stop: Event) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with heard:
        _work(place, plan, heard.send, stop.is_set)


def _work(place: Place, plan: Plan, tell: Tell, is_interrupted: Callable[[], bool]) -> None:
    with arena_at(place) as arena:
        campaign = Campaign(plan, arena, _Teller(tell), is_interrupted)
        failure = ""
        try:
            campaign.run()
        except KitError as error:
            failure = str(error)
        tell(Ended(_status(campaign), campaign.batches.coverage, failure))


@contextmanager
def arena_at(place: Place) -> Generator[Arena]:
    """Give the arena at a place; a reference that was started ends with the block."""
    options = GroundsOptions(place.token, timeout_s=place.timeout_s)
    if place.protocol:
        own = ReferenceArena(place.protocol, options, place.extra)
        try:
            yield own
        finally:
            own.close()
        return
    restart = restart_with(place.restart) if place.restart else None
    target = read_target(place.url, place.keys)
    yield AddressArena(target, options, restart, place.pid)


@dataclass(slots=True)
class _Teller:
    """Turns what a campaign tells into news."""

    tell: Tell
    is_opened: bool = False

    def went_on(self, campaign: Campaign) -> None:
        """Tell how far it is."""
        self._open(campaign)
        self.tell(_status(campaign))

    def found(self, campaign: Campaign, finding: Finding) -> None:
        """Tell what was found."""
        self._open(campaign)
        self.tell(finding_record(finding, campaign.names))

    def _open(self, campaign: Campaign) -> None:
        if not self.is_opened:
            self.is_opened = True
            told = dict(campaign.fingerprint)
            self.tell(Opened(dict(campaign.names), told, campaign.patience_s))


def _status(campaign: Campaign) -> Status:
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
        campaign.died,
        campaign.unwatched_s,
    )
