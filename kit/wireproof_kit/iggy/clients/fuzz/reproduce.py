"""Writes a finding against an Iggy client as a script that needs only Python and the client."""

from collections.abc import Iterator, Mapping

from wireproof_kit.clients.effects import Effect, Send
from wireproof_kit.fuzz.campaign.records import read_cases
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.clients.script import write_client_script
from wireproof_kit.fuzz.clients.writes import divide
from wireproof_kit.iggy.clients.client import IGGY_CLIENTS
from wireproof_kit.iggy.clients.driver_requests import ask_poll, ask_send
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.iggy.clients.fuzz import standalone, states
from wireproof_kit.iggy.clients.fuzz.given import Given
from wireproof_kit.iggy.clients.fuzz.peers import is_doubtful
from wireproof_kit.iggy.clients.fuzz.states import LOGIN, POLL, SEND, STATES, STORE, Situation
from wireproof_kit.iggy.clients.log import LOG
from wireproof_kit.iggy.clients.peers import IggyPeers
from wireproof_kit.iggy.clients.probes import ONE
from wireproof_kit.iggy.clients.script import TRANSPORTS, Transport
from wireproof_kit.protocols import read_target
from wireproof_spec.driver.lines import in_base64
from wireproof_spec.fuzz_record import FindingRecord
from wireproof_spec.iggy import kinds
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.commands import COMMANDS
from wireproof_spec.iggy.generation import GENERATIONS, Generation
from wireproof_spec.strict_json import JsonValue

_COUNT = 10
_HTTP: Mapping[str, str] = {
    POLL: "GET messages",
    SEND: "POST messages",
    LOGIN: "POST login",
    STORE: "PUT consumer-offsets",
    "ping": "GET ping",
    "get_streams": "GET streams",
    "get_topics": "GET topics",
    "get_consumer_offset": "GET consumer-offsets",
}
"""What begins a request over HTTP, and ends its path, by command."""


def write_script(finding: FindingRecord, url: str) -> str:
    """Return a Python script, with the finding as literals, that sends its cases to a client."""
    cases = read_cases(finding)
    situation = STATES[cases[-1].state].client
    operation = ask_poll() if situation.role == "consumer" else ask_send([ONE])
    told: dict[str, JsonValue] = {
        "finding": finding.id,
        "violated": finding.violated,
        "command": read_target(url).command or "",
        "role": situation.role,
        "transport": situation.transport,
        "cases": [_describe(case) for case in cases],
        "request": {"op": operation.op, **operation.fields},
        "values": dict[str, JsonValue](_values(situation)),
        "usual": {each: _usual(each) for each in TRANSPORTS},
        "works": list[JsonValue](_names(situation.place)),
        "sends": list[JsonValue](_names(SEND)),
        "log": [[str(each.offset), in_base64(each.payload)] for each in LOG],
    }
    return write_client_script(told, standalone)


def _describe(case: Case) -> JsonValue:
    situation, pieces = STATES[case.state], divide(case)
    given = Given(situation.transport)
    given.add_case(b"".join(pieces))
    return {
        "places": list[JsonValue](_names(situation.place)),
        "begins": situation.place == LOGIN,
        "pieces": [piece.hex() for piece in pieces],
        "closes": is_doubtful(case),
        "accepts": given.is_accepted,
    }


def _names(command: str) -> list[str]:
    """Return how a command is called over TCP and over HTTP."""
    codes = [str(code) for code, name in COMMANDS.items() if name == command]
    return [*codes, _HTTP[command]]


def _values(situation: Situation) -> Mapping[str, str]:
    nowhere: dict[str, str] = dict.fromkeys(TRANSPORTS, "")
    return IGGY_CLIENTS.fill(states.script(situation), nowhere, {})


def _usual(transport: Transport) -> JsonValue:
    """Return the usual answers in both generations; that by no name is for any other request."""
    known = {name: str(code) for code, name in COMMANDS.items()} if transport == "tcp" else _HTTP
    return {
        each: {
            key: _answer(name, transport, each) for name, key in {**known, "unknown": ""}.items()
        }
        for each in GENERATIONS
    }


def _answer(command: str, transport: Transport, generation: Generation) -> str:
    poll = make_poll() if command == POLL else None
    asked = Asked(0.0, f"{transport}.1", command, generation, poll)
    return b"".join(_sent(IggyPeers(states.script(STATES["polling"])).react(asked))).hex()


def _sent(effects: Iterator[Effect]) -> Iterator[bytes]:
    return (effect.data for effect in effects if isinstance(effect, Send))


def make_poll() -> PollMessages:
    """Return the poll that a driver is asked for."""
    return PollMessages(
        consumer=Consumer(kinds.CONSUMER_KIND, 0),
        stream=numeric(1),
        topic=numeric(1),
        partition_id=1,
        strategy=kinds.OFFSET,
        value=0,
        count=_COUNT,
        auto_commit=0,
    )
