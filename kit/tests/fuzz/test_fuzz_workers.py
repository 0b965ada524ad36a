"""Workers of a campaign that end as they should, and one that dies."""

from collections.abc import Sequence

from wireproof_kit.fuzz.campaign.coverage import Coverage
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.workers import (
    LOST,
    Ended,
    Job,
    News,
    Status,
    TargetChoice,
    listen,
)
from wireproof_kit.fuzz.driver import Choice
from wireproof_kit.processes.worker_pool import JobLost


def job(number: int) -> Job:
    return TargetChoice(), WorkerPlan(Choice(seed=1), worker=number)


def reported(*news: tuple[int, News | JobLost]) -> Sequence[News]:
    """Return what is passed on of what the pool yields by worker."""
    found: list[News] = []
    listen(((job(number), each) for number, each in news), found.append)
    return found


def test_all_that_workers_report_is_passed_on() -> None:
    one, two = Ended(Status(0, 8, 512), Coverage()), Ended(Status(1, 9, 256), Coverage(), "why")

    assert reported((0, Status(0, 4)), (1, two), (0, one)) == [Status(0, 4), two, one]


def test_a_worker_that_ends_without_a_last_report_has_failed() -> None:
    found = reported((0, Status(0, 4, 256)), (1, JobLost("killed")), (0, JobLost("killed")))

    ended = {each.status.worker: each for each in found if isinstance(each, Ended)}
    assert {number: each.failure for number, each in ended.items()} == {
        number: LOST.format(number) for number in (0, 1)
    }
    assert (ended[0].status.executed, ended[1].status.executed) == (256, 0)


def test_a_worker_that_is_lost_after_its_last_report_has_not_failed() -> None:
    last = Ended(Status(0, 4, 256), Coverage())

    assert reported((0, last), (0, JobLost("killed"))) == [last]
