"""Cases under other names than they were made for: a target that came back is met afresh.

What a target that died has kept may kill it again whoever asks for it; so each opening has names
of its own, and cases, made once for the first, are sent under those that are there now.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from wireproof_kit.fuzz.case import Case, Step


def are_as_long(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Tell whether names can stand for others without moving a byte."""
    return {key: len(name) for key, name in old.items()} == {
        key: len(name) for key, name in new.items()
    }


@dataclass(frozen=True, slots=True)
class Renaming:
    """Which names stand for which; none in particular leaves all as it was."""

    names: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])

    def case(self, case: Case) -> Case:
        """Return a case as it is sent now."""
        return replace(case, steps=self.steps(case.steps)) if self.names else case

    def steps(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """Return steps as they are sent now."""
        return tuple(replace(step, data=self._bytes(step.data)) for step in steps)

    def _bytes(self, data: bytes) -> bytes:
        for old, new in self.names.items():
            data = data.replace(old, new)
        return data


NO_RENAMING = Renaming()
