"""The decorators of cases for clients: such cases mostly wait, and each has its own server."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.clients.script import TRANSPORTS
from wireproof_kit.observation import Observation

Case: TypeAlias = Callable[..., Observation]


def client_case(subject: str, clause: str, *needs: str) -> Callable[[Case], Case]:
    """Return a decorator that makes a function the case ``iggy/client-SUBJECT``.

    ``needs`` are the capabilities that the client must have.
    """
    return case(
        f"iggy/client-{subject}",
        clause=f"iggy.client.{clause}",
        needs=_capabilities(needs),
        waiting=True,
    )


def over_both(
    subject: str, clause: str, *needs: str, each: Iterable[str] = ()
) -> Callable[[Case], Case]:
    """Return a decorator for a case that runs over each transport that the client has.

    The case takes a ``transport``, and if there is ``each`` also a ``name``; its id ends in both.
    """
    names = tuple(each)
    rows = [(transport, name) for transport in TRANSPORTS for name in names or ("",)]
    ids = ["/".join(part for part in row if part) for row in rows]
    mark = case(
        f"iggy/client-{subject}",
        clause=f"iggy.client.{clause}",
        needs=_capabilities(needs),
        waiting=True,
        needs_of={id: (f"client-{row[0]}",) for id, row in zip(ids, rows, strict=True)},
    )

    def decorate(function: Case) -> Case:
        if names:
            return pytest.mark.parametrize(("transport", "name"), rows, ids=ids)(mark(function))
        return pytest.mark.parametrize("transport", TRANSPORTS)(mark(function))

    return decorate


def _capabilities(needs: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"client-{need}" for need in needs)
