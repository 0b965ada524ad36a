"""With a command that restarts the target, who is charged with a death causes it alone too."""

import threading
from collections.abc import Callable

import pytest
from fake_session import FakeSession
from test_engine import case, engine

from wireproof_kit.errors import RestartFailed
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.deaths import recovery
from wireproof_kit.runner.deaths.deaths import Deaths
from wireproof_kit.runner.deaths.gate import Gate
from wireproof_kit.runner.deaths.recovery import Recovery
from wireproof_kit.targets.session import Control
from wireproof_kit.wire.transcript import Transcript

CULPRIT, BYSTANDER, NEXT = (f"p/i/case/{name}" for name in ("culprit", "bystander", "next"))
BROKER = ("broker",)


class Mortal(FakeSession):
    """A session whose target can be killed and restarted."""

    def __init__(self) -> None:
        super().__init__()
        self.died = threading.Event()
        self.restarts = self.made_again = 0

    def kill(self) -> None:
        self.alive = False
        self.died.set()

    def restart(self) -> bool:
        self.restarts += 1
        self.alive = True
        return True

    def make_shared_again(self) -> None:
        assert self.alive
        self.made_again += 1


def send(broker: Transcript) -> None:
    broker.add("send", "A", data=b"PUB")


def deadly(session: Mortal, value: str = "closed") -> Callable[[Transcript], Observation]:
    def kill(broker: Transcript) -> Observation:
        send(broker)
        session.kill()
        return observed(value, note="closed")

    return kill


class Bystander:
    """A case that is open when the target dies first, and passes when it runs again."""

    def __init__(self, session: Mortal, *, sends: bool = True) -> None:
        self.session, self.sends = session, sends
        self.begun = threading.Event()

    def __call__(self, broker: Transcript) -> Observation:
        if self.sends:
            send(broker)
        is_first = not self.begun.is_set()
        self.begun.set()
        if not is_first:
            return observed("ok,open")
        self.session.died.wait()
        return observed("closed")


def test_of_the_cases_that_were_open_only_the_culprit_fails() -> None:
    session = Mortal()
    standing = [Bystander(session) for _ in range(4)]
    items = [
        case(function.__call__, case_id=f"{BYSTANDER}/{number}", waiting=True, arguments=BROKER)
        for number, function in enumerate(standing)
    ]

    def kill(broker: Transcript) -> Observation:
        for function in standing:
            function.begun.wait()
        return deadly(session)(broker)

    culprit = case(kill, case_id=CULPRIT, waiting=True, arguments=BROKER)
    kit = engine(session, repeats=2, restart=session.restart)
    kit.start([*items, culprit])
    records = [kit.run(item) for item in items]
    charged = kit.run(culprit)
    kit.close()

    assert [record.verdict for record in records] == ["pass"] * 4
    assert (charged.verdict, charged.observation) == ("fail", "died")
    assert (charged.repeats.runs, charged.repeats.same) == (2, 2)
    assert "no other case ran meanwhile" in charged.note
    assert session.alive


def test_a_case_that_sent_nothing_is_charged_only_if_no_other_has_sent() -> None:
    session = Mortal()

    def finds_it_dead(broker: Transcript) -> Observation:
        session.kill()
        return observed("inconclusive:arrangement", note="connection refused")

    def sends(broker: Transcript) -> Observation:
        broker.add("send", "A", data=b"x")
        return observed("ok,open")

    item = case(finds_it_dead, case_id=BYSTANDER, arguments=BROKER)
    first = engine(session).run(item)
    assert (first.verdict, first.observation) == ("fail", "died")
    assert "no case had sent anything before: a probe of the kit" in first.note

    session.restart()
    kit = engine(session)
    assert kit.run(case(sends, case_id="nsq/x/sends", arguments=BROKER)).verdict == "pass"
    later = kit.run(item)
    assert (later.verdict, later.observation) == ("inconclusive", "inconclusive:target-died")

    session.restart()
    restarted = engine(session, restart=session.restart).run(item)
    assert restarted.verdict == "inconclusive"
    assert "before the case had sent anything" in restarted.reason


def test_a_case_without_bytes_runs_again_in_company() -> None:
    session = Mortal()
    bystander = Bystander(session, sends=False)
    waits = case(bystander.__call__, case_id=BYSTANDER, waiting=True, arguments=BROKER)
    kit = engine(session, repeats=1, restart=session.restart)
    kit.start([waits])
    bystander.begun.wait()
    charged = kit.run(case(deadly(session), case_id=CULPRIT, arguments=BROKER))

    assert charged.observation == "died"
    assert kit.run(waits).verdict == "pass"
    kit.close()


def test_a_culprit_that_shows_what_conforms_is_found() -> None:
    session = Mortal()
    kit = engine(session, repeats=2, restart=session.restart)
    charged = kit.run(case(deadly(session, "ok,closed"), case_id=CULPRIT, arguments=BROKER))
    assert (charged.verdict, charged.observation) == ("fail", "died")


def test_a_death_that_no_case_causes_alone_stays_undecided() -> None:
    session = Mortal()
    runs = iter([deadly(session)])

    def dies_once(broker: Transcript) -> Observation:
        send(broker)
        return next(runs, lambda _: observed("ok,open"))(broker)

    kit = engine(session, restart=session.restart)
    record = kit.run(case(dies_once, case_id=BYSTANDER, arguments=BROKER))
    assert record.verdict == "inconclusive"
    assert "each of them passes alone" in record.reason


def test_a_repeat_that_dies_of_another_case_counts_for_nothing() -> None:
    """The failing case goes on repeating while another one ends the target."""
    session = Mortal()
    repeated, killed = threading.Event(), threading.Event()
    values = iter(["bad"])

    def fails(broker: Transcript) -> Observation:
        send(broker)
        if session.died.is_set():
            return observed("bad")
        if next(values, None):
            return observed("bad")
        repeated.set()
        killed.wait()
        return observed("closed")

    def kill(broker: Transcript) -> Observation:
        repeated.wait()
        found = deadly(session)(broker)
        killed.set()
        return found

    failing = case(fails, case_id=BYSTANDER, waiting=True, arguments=BROKER)
    kit = engine(session, repeats=3, restart=session.restart)
    kit.start([failing])
    charged = kit.run(case(kill, case_id=CULPRIT, arguments=BROKER))
    record = kit.run(failing)
    kit.close()

    assert charged.observation == "died"
    assert (record.verdict, record.observation, record.repeats.same) == ("fail", "bad", 3)


def test_a_late_effect_of_a_case_that_ran_before_is_not_charged() -> None:
    session = Mortal()
    deaths = Deaths(session, session.restart)
    deaths.alone, session.alive = BYSTANDER, False

    early = deaths.notice(BYSTANDER, observed("closed"), since=0)
    deaths.bring_back()
    session.alive = False
    again = deaths.notice(BYSTANDER, observed("closed"), since=0)

    assert early is not None
    assert again is not None
    assert early.value == "inconclusive:target-died"
    assert "the late effect of a case that ran before" in early.note
    assert again.value == "died"


def test_cases_go_on_when_the_restarted_target_answers() -> None:
    class Slow(Mortal):
        """A target that accepts connections before it answers."""

        def control(self) -> Control:
            self.controls += 1
            is_early = self.restarts and self.controls < 3
            return Control("dead" if is_early else "prompt", 0.01)

        def make_shared_again(self) -> None:
            super().make_shared_again()
            assert self.controls >= 3

    session = Slow()
    kit = engine(session, repeats=1, restart=session.restart)
    assert kit.run(case(deadly(session, "bad"), case_id=CULPRIT, arguments=BROKER)).verdict == (
        "fail"
    )
    later = kit.run(case(lambda broker: observed("ok,open"), case_id=NEXT, arguments=BROKER))
    assert later.verdict == "pass"
    assert session.made_again == session.restarts == 2


@pytest.mark.parametrize("fault", ["the command failed", "did not answer within"])
def test_no_further_case_is_tried_if_the_target_does_not_come_back(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(Mortal):
        def restart(self) -> bool:
            super().restart()
            self.alive = False
            return fault != "the command failed"

    monkeypatch.setattr(recovery, "ANSWERS_WITHIN_S", 0.0)
    session, tried = Gone(), list[str]()

    def next_case(broker: Transcript) -> Observation:
        tried.append(NEXT)
        return observed("ok,open")

    kit = engine(session, restart=session.restart)
    with pytest.raises(RestartFailed, match=fault):
        kit.run(case(deadly(session), case_id=CULPRIT, arguments=BROKER))
    with pytest.raises(RestartFailed, match=fault):
        kit.run(case(next_case, case_id=NEXT, arguments=BROKER))
    assert (tried, session.restarts) == ([], 1)


def test_the_wait_for_a_restarted_target_ends_with_the_run() -> None:
    session, gate = Mortal(), Gate()
    gate.ended.set()
    session.control_state = "dead"
    with pytest.raises(RestartFailed):
        Recovery(session, session.restart, gate).bring_back()


def test_without_a_restart_a_death_names_the_cases_that_were_open() -> None:
    session = Mortal()
    begun, gate = threading.Event(), threading.Event()

    def kill(broker: Transcript) -> Observation:
        send(broker)
        session.alive = False
        return observed("closed")

    def stays(broker: Transcript) -> Observation:
        send(broker)
        begun.set()
        gate.wait()
        return observed("closed")

    waits = case(stays, case_id=BYSTANDER, waiting=True, arguments=BROKER)
    kit = engine(session)
    kit.start([waits])
    begun.wait()
    charged = kit.run(case(kill, case_id=CULPRIT, arguments=BROKER))
    gate.set()
    undecided = kit.run(waits)
    kit.close()

    assert "the case need not be the culprit: open then and last to send were" in charged.note
    assert f"{BYSTANDER} (" in charged.note
    assert undecided.verdict == "inconclusive"
    assert f"{CULPRIT}, which need not be the culprit" in undecided.reason
    assert "--restart CMD finds it" in charged.note


def test_a_repeat_that_finds_the_target_dead_names_the_last_sender() -> None:
    session = Mortal()
    values = iter(["bad"])

    def fails(broker: Transcript) -> Observation:
        send(broker)
        if value := next(values, ""):
            return observed(value)
        session.alive = False
        return observed("closed")

    def passes(broker: Transcript) -> Observation:
        send(broker)
        return observed("ok,open")

    kit = engine(session, repeats=2)
    assert kit.run(case(passes, case_id=NEXT, arguments=BROKER)).verdict == "pass"
    record = kit.run(case(fails, case_id=BYSTANDER, arguments=BROKER))

    assert record.verdict == "fail"
    told = "the target died in 1 of 2 repeats; the case need not be the culprit: last to send"
    assert record.reason.startswith(f"{told} before it was {NEXT} (")


def test_without_a_restart_the_first_that_had_sent_is_charged() -> None:
    """The case that notices first found the target dead."""
    session = Mortal()
    noticed, begun = threading.Event(), threading.Event()

    def kill(broker: Transcript) -> Observation:
        send(broker)
        session.alive = False
        begun.set()
        noticed.wait()
        return observed("closed")

    culprit = case(kill, case_id=CULPRIT, waiting=True, arguments=BROKER)
    kit = engine(session)
    kit.start([culprit])
    begun.wait()
    first = kit.run(case(lambda broker: observed("missing"), case_id=BYSTANDER, arguments=BROKER))
    noticed.set()
    charged = kit.run(culprit)
    kit.close()

    assert first.verdict == "inconclusive"
    assert "need not be the culprit" in first.reason
    assert (charged.verdict, charged.observation) == ("fail", "died")
