"""Repeats a query until it returns a result or a deadline passes."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(
    look: Callable[[], T | None],
    *,
    seconds: float,
    every: float = 0.1,
    given_up: threading.Event | None = None,
) -> T | None:
    """Call ``look`` every ``every`` seconds until it returns a result; return the result.

    Return None after ``seconds``, or as soon as ``given_up`` is set.
    """
    deadline = time.monotonic() + seconds
    pause = given_up or threading.Event()
    while True:
        found = look()
        left = deadline - time.monotonic()
        if found is not None or left <= 0:
            return found
        if pause.wait(min(every, left)):
            return None
