"""A session without a target: scripted control, life and arguments, for tests of the cores."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from wireproof_kit.case import CaseMark
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.instance import Instance
from wireproof_kit.runner.patience import Patience
from wireproof_kit.targets.session import Control, Probe
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.clauses.catalogue import Clause
from wireproof_spec.record import ControlState


class FakeSession:
    """Answers as it is told to; counts what is asked of it."""

    def __init__(self, *, control: ControlState = "prompt", alive: bool = True) -> None:
        self.patience = Patience(answer=0.1, push=0.1, redelivery=0.1)
        self.control_state: ControlState = control
        self.alive = alive
        self.released: list[Mapping[str, object]] = []
        self.controls = 0

    def probe_capability(self, name: str) -> Probe:
        return Probe(observed("ok"), Transcript())

    def probe_reading(self, name: str) -> Probe:
        return Probe(observed("P"), Transcript())

    def bind(self, readings: Mapping[str, str | None]) -> None:
        pass

    def begin(self, kinds: Counter[str]) -> None:
        pass

    def prepare(self, kinds: Counter[str]) -> None:
        pass

    def arguments(self, names: Sequence[str], transcript: Transcript) -> dict[str, object]:
        return dict.fromkeys(names, transcript)

    def release(self, arguments: Mapping[str, object]) -> None:
        self.released.append(arguments)

    def control(self) -> Control:
        self.controls += 1
        return Control(self.control_state, 0.01)

    def is_alive(self) -> bool:
        return self.alive

    def fingerprint(self) -> dict[str, str]:
        return {"version": "1"}

    def close(self) -> None:
        pass


def instance(
    function: Callable[..., Observation],
    clause: Clause,
    *,
    case_id: str = "p/i/case/x",
    arguments: tuple[str, ...] = (),
    hazard: bool = False,
    waiting: bool = False,
) -> Instance:
    """Make an instance without pytest."""
    mark = CaseMark("p/i/case", clause.id, hazard=hazard, waiting=waiting)
    return Instance(case_id, "title", mark, clause, clause.case[0], function, {}, arguments)
