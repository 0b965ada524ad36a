"""A death of the target is charged to one case, whatever else runs or begins then."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import cast

from wireproof_kit.observation import observed
from wireproof_kit.runner.deaths.deaths import Deaths
from wireproof_kit.targets.session import Session


class SlowToSay:
    """A session of a dead target; the answer whether it lives takes until it is let go."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.let_go = threading.Event()

    def is_alive(self) -> bool:
        self.asked.set()
        self.let_go.wait()
        return False


def test_a_case_that_begins_while_a_death_is_looked_into_is_not_charged_with_it() -> None:
    session = SlowToSay()
    deaths = Deaths(cast(Session, session))
    assert deaths.begin() == 0
    with ThreadPoolExecutor() as pool:
        first = pool.submit(deaths.notice, "first", observed("closed"), since=0)
        session.asked.wait()
        second = pool.submit(deaths.begin)
        assert not second.done()
        session.let_go.set()
        seen = first.result()
        assert seen is not None
        assert seen.value == "died"
        assert second.result() is None
    assert deaths.has_killed("first")
