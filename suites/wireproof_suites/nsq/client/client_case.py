"""The decorator of cases for clients: such cases mostly wait, and each has its own peers."""

from collections.abc import Callable

from wireproof_kit.case import case
from wireproof_kit.observation import Observation


def client_case(
    subject: str, clause: str, *needs: str
) -> Callable[[Callable[..., Observation]], Callable[..., Observation]]:
    """Return a decorator that makes a function the case ``nsq/client-SUBJECT``.

    ``needs`` are the capabilities that the client must have.
    """
    return case(
        f"nsq/client-{subject}",
        clause=clause,
        needs=tuple(f"client-{need}" for need in needs),
        waiting=True,
    )
