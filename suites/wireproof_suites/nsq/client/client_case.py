"""The decorator of cases for clients: such cases mostly wait, and each has its own peers."""

from collections.abc import Callable

from wireproof_kit.case import case
from wireproof_kit.observation import Observation


def client_case(
    subject: str, clause: str, *needs: str
) -> Callable[[Callable[..., Observation]], Callable[..., Observation]]:
    """Return the decorator of the case ``nsq/client-…`` that needs these capabilities."""
    return case(
        f"nsq/client-{subject}",
        clause=clause,
        needs=tuple(f"client-{need}" for need in needs),
        waiting=True,
    )
