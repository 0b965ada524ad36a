"""Which nodes that lookup servers name are contacted, and what is said of them before."""

import sys
import threading
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from wireproof_kit.decoding.printable import printable
from wireproof_kit.wire.address import (
    Address,
    format_address,
    is_loopback,
    is_off_limits,
    resolve,
)

OFF_LIMITS = (
    "which is link-local or hands out a cloud's credentials; it is not contacted. "
    "If it is a node, name it in the URL"
)
NOT_LOOPBACK = (
    "which is not on loopback as everything before; it is not contacted. "
    "If it is a node of the target, begin again"
)
MOST_NODES = 256
"""No session contacts more addresses that answers name: it would search a network for them."""
TOO_MANY = f"beyond {MOST_NODES} addresses, which are the most; neither it nor more are contacted"
CONTACTED = "on a host that you did not name; it is contacted"


class Named(Protocol):
    """What a lookup server names: a node, or the leader of a partition."""

    @property
    def address(self) -> Address:
        """Return where its commands are taken."""
        ...


T = TypeVar("T", bound=Named)


def say(sentence: str) -> None:
    """Write a sentence to stderr."""
    sys.stderr.write(f"wireproof: {sentence}\n")


class Reach:
    """Decides for one session which nodes are contacted; thread-safe.

    ``hosts`` are those that the user named. Each other host is told once, before it is contacted.
    """

    def __init__(self, hosts: Iterable[str], tell: Callable[[str], None] = say) -> None:
        self._hosts = set(hosts)
        self._tell = tell
        self._told: set[str] = set()
        self._seen: set[Address] = set()
        self._is_confined = False
        self._lock = threading.Lock()

    def confine(self) -> None:
        """Contact only nodes on loopback from now on."""
        self._is_confined = True

    def admit(self, server: Address, named: Iterable[T]) -> tuple[T, ...]:
        """Return the nodes that may be contacted among those that a lookup server names."""
        return tuple(each for each in named if self._admits(server, each.address))

    def _admits(self, server: Address, node: Address) -> bool:
        host = node[0]
        with self._lock:
            if len(self._seen) < MOST_NODES:
                self._seen.add(node)
        if node not in self._seen:  # asked first: a name costs a look-up
            self._tell_once(server, node, TOO_MANY, about="")
            return False
        if host in self._hosts:
            return True
        if is_off_limits(host):
            self._tell_once(server, node, OFF_LIMITS)
            return False
        if self._is_confined and not is_loopback(host):
            self._tell_once(server, node, NOT_LOOPBACK)
            return False
        if not self._is_of_user(host):
            self._tell_once(server, node, CONTACTED)
        return True

    def _is_of_user(self, host: str) -> bool:
        """Return True if the user named the host, by this name or another."""
        numbers = set(resolve(host))
        if is_loopback(host) and any(map(is_loopback, self._hosts)):
            return True
        return bool(numbers) and any(numbers <= set(resolve(each)) for each in self._hosts)

    def _tell_once(
        self, server: Address, node: Address, what: str, about: str | None = None
    ) -> None:
        """Say what is done about a host, or about something else."""
        about = node[0] if about is None else about
        with self._lock:
            if about in self._told:
                return
            self._told.add(about)
        names = printable(format_address(node))
        self._tell(f"lookup server {format_address(server)} names {names}, {what}")
