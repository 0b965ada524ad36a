"""What a case asks of its topics that changes how their messages come."""

from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.clients.http_requests import HttpRequest
from wireproof_kit.nsq.cluster import MOVE_PATH
from wireproof_kit.nsq.lookup.servers import DELETE_PATH, UPDATE_PATH

MOVED, GONE = "moved", "gone"
"""How a partition got another leader; a group of clauses is named by each."""
_LEADERS: Final = {MOVE_PATH: MOVED, "/control/leader": MOVED, "/control/node": GONE}
_ALL: Final = ""


@dataclass(slots=True)
class Changes:
    """The changes that one run of a case has asked for so far."""

    deleted: set[str] = field(default_factory=set[str])
    """Topics whose ids may begin anew."""
    upgraded: set[str] = field(default_factory=set[str])
    """Topics whose layout may be the old one or the new one."""
    _leaders: dict[str, str] = field(default_factory=dict[str, str])

    def note(self, request: HttpRequest) -> None:
        """Note what an HTTP request asks for."""
        topics = request.query.get("topic", ())
        if request.path == DELETE_PATH:
            self.deleted.update(topics)
        elif request.path == UPDATE_PATH:
            self.upgraded.update(topics)
        elif (how := _LEADERS.get(request.path)) is not None:
            self._leaders.update(dict.fromkeys(topics or (_ALL,), how))

    def note_other_leader(self, topic: str) -> None:
        """Note that a node has said that it does not lead a partition of a topic."""
        self._leaders.setdefault(topic, MOVED)

    def new_leader(self, topic: str) -> str:
        """Return how the partitions of a topic may have got another leader; empty if not."""
        return self._leaders.get(topic) or self._leaders.get(_ALL, "")
