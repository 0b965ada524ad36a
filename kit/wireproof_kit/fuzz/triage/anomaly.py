"""What a batch raised, before anybody knows whether it shows again."""

from dataclasses import dataclass

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Trouble


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Something violated: by this case, or by any of the batch when nobody knows.

    The first `likely` ones of the batch are likelier to have done it than the others; 0: all are
    as likely.
    """

    trouble: Trouble
    batch: tuple[Case, ...]
    case: Case | None = None
    answer: str = ""
    likely: int = 0

    @property
    def suspects(self) -> tuple[Case, ...]:
        """Those that are likely to have done it, the likeliest last."""
        likely = self.batch[: self.likely] or self.batch
        first = self.case or likely[0]
        return (*(case for case in likely if case is not first), first)
