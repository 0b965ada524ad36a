"""Renames cases, so that a restarted target gets names it has not seen.

Messages that a crashed target kept under the old names may crash it again. So each opening has
names of its own, and cases generated for the first names are sent under the present ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from wireproof_kit.fuzz.case import Case, Step


def are_as_long(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Return True if each name in `new` has the length of the `old` one with the same key."""
    return {key: len(name) for key, name in old.items()} == {
        key: len(name) for key, name in new.items()
    }


@dataclass(frozen=True, slots=True)
class Renaming:
    """Replaces old names (topics, streams) in bytes with new ones of equal length, if any."""

    names: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])

    def case(self, case: Case) -> Case:
        """Return a case with old names in its bytes replaced by the new ones."""
        return replace(case, steps=self.steps(case.steps)) if self.names else case

    def steps(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """Return steps with old names in their bytes replaced by the new ones."""
        return tuple(replace(step, data=self._bytes(step.data)) for step in steps)

    def _bytes(self, data: bytes) -> bytes:
        for old, new in self.names.items():
            data = data.replace(old, new)
        return data


NO_RENAMING = Renaming()
