"""Workers of a campaign that end as they should, and one that dies."""

from multiprocessing import Pipe
from multiprocessing.connection import Connection

from wireproof_kit.fuzz.campaign.coverage import Coverage
from wireproof_kit.fuzz.campaign.workers import LOST, Ended, News, Status, listen


def told(*workers: tuple[News, ...]) -> list[News]:
    """Return what is told of workers that say these things and are gone."""
    heard: dict[Connection, int] = {}
    for number, said in enumerate(workers):
        ours, theirs = Pipe(duplex=False)
        for news in said:
            theirs.send(news)
        theirs.close()
        heard[ours] = number
    news_heard: list[News] = []
    listen(heard, news_heard.append, lambda: False, lambda: None)
    return news_heard


def test_all_that_workers_say_is_told() -> None:
    one, two = Ended(Status(0, 8, 512), Coverage()), Ended(Status(1, 9, 256), Coverage(), "why")

    found = told((Status(0, 4), one), (two,))

    assert len(found) == 3
    assert all(each in found for each in (Status(0, 4), one, two))


def test_a_worker_that_ends_without_a_last_word_has_failed() -> None:
    found = told((Status(0, 4, 256),), ())

    ended = {each.status.worker: each for each in found if isinstance(each, Ended)}
    assert {number: each.failure for number, each in ended.items()} == {
        number: LOST.format(number) for number in (0, 1)
    }
    assert (ended[0].status.executed, ended[1].status.executed) == (256, 0)
