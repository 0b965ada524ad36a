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
    """Repeat a query until it gives a result; return the result.

    Return None after a number of seconds, or when the wait is given up.
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
