"""Plays one fuzz case with a client that is given as a list of events."""

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from wireproof_kit.clients.effects import Effect, Later, Send
from wireproof_kit.clients.events import Event
from wireproof_kit.fuzz.clients.part import CasePeers

P = TypeVar("P", bound=CasePeers)


class CasePlay(Generic[P]):
    """Peers with one case, their timers by name, and what they do at each event."""

    def __init__(self, peers: P, beginning: Iterable[Effect]) -> None:
        self.peers = peers
        self.timers: dict[str, object] = {}
        self._take(beginning)

    def see(self, event: Event) -> list[Effect]:
        return self._take(self.peers.react(event))

    def expire(self, what: str) -> list[Effect]:
        return self._take(self.peers.react_to_timer(self.timers.pop(what)))

    @property
    def violated(self) -> str:
        return self.peers.trouble.violated if self.peers.trouble else ""

    def _take(self, effects: Iterable[Effect]) -> list[Effect]:
        found = list(effects)
        for each in found:
            if isinstance(each, Later):
                self.timers[getattr(each.token, "what", "")] = each.token
        return found


def sent(effects: Sequence[Effect]) -> list[bytes]:
    return [each.data for each in effects if isinstance(each, Send)]
