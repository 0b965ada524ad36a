"""What cases name on a target."""

from dataclasses import dataclass

CASES_PREFIX = "wp_"
"""Topics of cases begin so; a case that may create another one is hazardous."""


@dataclass(frozen=True, slots=True)
class Names:
    """The topics that were made for a campaign, and channels that cases may use of them."""

    extended: str
    plain: str
    channel: str = "wp_channel"
    partition: int = 0

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics, the one with headers first."""
        return self.extended, self.plain
