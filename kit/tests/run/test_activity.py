"""What a run waits for is told while nothing else is shown."""

import threading

from wireproof_kit.runner.activity import Activity


def test_a_long_step_is_told_with_its_name_until_it_ends() -> None:
    activity = Activity()
    told: list[tuple[str, float]] = []
    twice = threading.Event()

    def tell(what: str, seconds: float) -> None:
        told.append((what, seconds))
        if len(told) == 2:
            twice.set()

    activity.begin("a leader")
    with activity.watch(tell, every_s=0.01):
        twice.wait()

    assert {what for what, _ in told} == {"a leader"}
    assert 0.01 <= told[0][1] < told[1][1]
