"""Peers that fuzz a client of NSQ, with one case and a client that is a list of events."""

from collections.abc import Sequence

from case_play import CasePlay, sent

from wireproof_kit.clients.effects import Effect
from wireproof_kit.clients.events import Answered, Connected, Told
from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.fuzz.driver import Choice
from wireproof_kit.fuzz.generate.case_sources import names_of
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS
from wireproof_kit.nsq.clients.driver_requests import Asking
from wireproof_kit.nsq.clients.events import Commanded
from wireproof_kit.nsq.clients.fuzz import states
from wireproof_kit.nsq.clients.fuzz.frames import grammar
from wireproof_kit.nsq.clients.fuzz.part import NAMES
from wireproof_kit.nsq.clients.fuzz.peers import CasePeers
from wireproof_kit.nsq.clients.fuzz.states import STATES
from wireproof_kit.nsq.clients.script import LOOKUP_1, NODE_1
from wireproof_spec.driver.lines import Event as DriverEvent
from wireproof_spec.driver.lines import Failure, Result, in_base64
from wireproof_spec.nsq.frame import message_frame

CONN, AGAIN = f"{NODE_1}.1", f"{NODE_1}.2"
ID = bytes(range(16))
MESSAGE = message_frame(bytes(10) + ID + b"body")
ADDRESSES = {LOOKUP_1: "127.0.0.1:40001", "lookupd2": "", NODE_1: "127.0.0.1:40002", "nsqd2": ""}
VALUES = NSQ_CLIENTS.fill(states.script(STATES["consuming"]), ADDRESSES, NAMES)
CHOICE = Choice(1, tuple(names_of(grammar())))


def case(data: bytes, state: str = "consuming") -> Case:
    return Case(0, state, "message", "body", "empty", (Step(data),), delimited=True)


class Play(CasePlay[CasePeers]):
    """Peers with one case and a client that is a list of events."""

    def __init__(self, tried: Case) -> None:
        client = STATES[tried.state].client
        asking = Asking(states.script(client), topic="t", channel="c")
        peers = CasePeers(client, [tried], asking, patience_s=5.0)
        super().__init__(peers, peers.begin(ADDRESSES, VALUES))

    def subscribe(self, conn: str = CONN) -> list[Effect]:
        self.see(Connected(0.1, conn))
        self.see(Commanded(0.1, conn, "IDENTIFY", body=b"{}"))
        self.see(Commanded(0.2, conn, "SUB", ("t", "c", "0")))
        return self.see(Commanded(0.3, conn, "RDY", ("5",)))

    def publish(self, conn: str = CONN) -> list[Effect]:
        return self.see(Commanded(0.3, conn, "PUB", ("t", "0"), b"body"))

    def tell(self, *, success: bool = True) -> None:
        answer = Result(1, {}) if success else Failure(1, "refused", "")
        self.see(Answered(0.4, "driver", "produce", answer))

    def tell_message(self, message_id: bytes, body: bytes) -> None:
        told = DriverEvent("message", 2, {"id": message_id.hex(), "body": in_base64(body)})
        self.see(Told(0.4, "driver", told))


def control_id(effects: Sequence[Effect]) -> bytes:
    (data,) = (data for data in sent(effects) if b"control" in data)
    return data[18:34]
