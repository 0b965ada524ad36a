"""The topics and channels that fuzz cases use on a target."""

from dataclasses import dataclass

CASES_PREFIX = "wp_"
"""The start of the names of topics that cases use; a case that may create others is hazardous."""
SCRATCH = f"{CASES_PREFIX}fuzz_scratch"
"""The topic that cases create, empty, pause and delete."""


@dataclass(frozen=True, slots=True)
class Names:
    """The topics created for a fuzz campaign, and the channels that cases may use."""

    extended: str
    plain: str
    channel: str = "wp_channel"
    partition: int = 0

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of the topics; the one with extend headers comes first."""
        return self.extended, self.plain
