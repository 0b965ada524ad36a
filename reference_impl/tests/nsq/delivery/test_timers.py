from wireproof_reference_impl.nsq.delivery.timers import Timers


def test_run_calls_what_is_due_in_order_of_time() -> None:
    timers = Timers()
    seen: list[tuple[str, int]] = []
    timers.at(30, lambda now: seen.append(("late", now)))
    timers.at(10, lambda now: seen.append(("first", now)))
    timers.at(20, lambda now: seen.append(("second", now)))

    timers.run(20)

    assert seen == [("first", 20), ("second", 20)]
    assert timers.next_ns() == 30


def test_equal_times_keep_their_order() -> None:
    timers, seen = Timers(), []
    timers.at(5, lambda now: seen.append("first"))
    timers.at(5, lambda now: seen.append("second"))

    timers.run(5)

    assert seen == ["first", "second"]


def test_cancelled_timers_are_not_called_and_not_waited_for() -> None:
    timers, seen = Timers(), []
    timer = timers.at(5, lambda now: seen.append("cancelled"))
    timers.cancel(timer)
    timers.cancel(timer)
    timers.cancel(None)

    timers.run(10)

    assert seen == []
    assert timers.next_ns() is None


def test_an_action_may_set_the_next_timer() -> None:
    timers, seen = Timers(), []

    def tick(now: int) -> None:
        seen.append(now)
        timers.at(now + 10, tick)

    timers.at(10, tick)
    for now in (10, 15, 20, 30):
        timers.run(now)

    assert seen == [10, 20, 30]


def test_cancelled_timers_do_not_pile_up() -> None:
    timers = Timers()
    kept = timers.at(10**9, lambda now: None)
    for when in range(10_000):
        timers.cancel(timers.at(when, lambda now: None))

    assert len(timers) < 3000
    assert timers.next_ns() == kept.when_ns
