"""The partitions registered by nodes, as lookup servers list them under /nodes.

A lookup server names the node that was chosen to lead a partition at once; the measured node
refuses messages until it has learned of it, seconds later on a busy cluster, and registers then.
"""

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from wireproof_kit.nsq.wire.http import HttpClient
from wireproof_spec.strict_json import JsonValue

EVERY_SECONDS = 0.5

# How many partitions of each topic.
Registered = Mapping[str, int]


class Registrations:
    """Caches registrations for many waiting threads; queries at most twice a second."""

    def __init__(self, servers: Sequence[HttpClient]) -> None:
        self._servers = servers
        self._lock = threading.Lock()
        self._asked = float("-inf")
        self._known: Registered | None = None

    def has(self, name: str, partitions: int) -> bool:
        """Return True if enough partitions are registered, or if no server lists registrations."""
        known = self._list_registered()
        return known is None or known.get(name, 0) >= partitions

    def _list_registered(self) -> Registered | None:
        """Return the registered partitions; None when no server lists them."""
        with self._lock:
            if time.monotonic() - self._asked >= EVERY_SECONDS:
                self._known = self._ask()
                self._asked = time.monotonic()
            return self._known

    def _ask(self) -> Registered | None:
        for server in self._servers:
            data = server.request("GET", "/nodes", v1=True).data
            producers = data.get("producers") if isinstance(data, dict) else None
            nodes = producers if isinstance(producers, list) else []
            telling = [node for node in nodes if isinstance(node, dict) and "partitions" in node]
            if telling:
                led = {entry for node in telling for entry in _entries(node)}
                return Counter(name for name, _ in led)
        return None


def _entries(node: Mapping[str, JsonValue]) -> list[tuple[str, int]]:
    topics = node.get("partitions")
    return [
        (name, int(str(number)))
        for name, numbers in (topics.items() if isinstance(topics, dict) else ())
        for number in (numbers if isinstance(numbers, list) else ())
        if str(number).isdecimal()
    ]
