"""The campaigns of the fuzzer's proof, and what came of each."""

from pathlib import Path

import msgspec

FOUND, NOTHING_FOUND, UNSURE = 1, 0, 3
CORRECT = "correct"
TOGETHER = "+"
PLACE = Path("out/fuzz-proof")


class Trial(msgspec.Struct, frozen=True):
    """One campaign: the reference broker with its fault, the duration, the exit code due."""

    protocol: str
    kind: str
    preset: str
    seed: int
    time_s: int

    @property
    def name(self) -> str:
        """Name it in a table."""
        first, *more = self.switches
        return f"{self.protocol} {first}" + (f" and {len(more)} more" if more else "")

    @property
    def switches(self) -> tuple[str, ...]:
        """Return the names of the faults or variants that are on at once."""
        return tuple(self.preset.split(TOGETHER))

    @property
    def extra(self) -> tuple[str, ...]:
        """Return the options of the reference that switch the faults or variants on."""
        if self.kind == CORRECT:
            return ()
        return tuple(word for name in self.switches for word in (f"--{self.kind}", name))

    @property
    def bundle(self) -> Path:
        """Return where its campaign is kept."""
        return PLACE / f"{self.name.replace(' ', '-')}-{self.seed}.jsonl"

    @property
    def due(self) -> int:
        """Return the expected exit code."""
        return FOUND if self.kind == "fault" else NOTHING_FOUND


class CampaignResult(msgspec.Struct, frozen=True):
    """The result of a trial: exit code, seconds to the first finding, the finding, cases sent.

    `doubt` says why the fault did not cause the finding.
    """

    trial: Trial
    code: int
    at_s: float
    what: str
    executed: int
    wall_s: float
    doubt: str = ""

    @property
    def is_right(self) -> bool:
        """Return whether the exit code is the expected one and the fault caused the finding."""
        return self.code == self.trial.due and not self.doubt
