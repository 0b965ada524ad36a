"""``wireproof replay`` for Iggy: it creates the streams again, with new numbers and names.

A case creates its topics itself, in the stream of its run, so each repetition needs only that
stream. New numbers and names are as long as the recorded ones, so that no length changes.
"""

import re
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import cast

import msgspec
from msgspec.structs import replace

from wireproof.replaying.protocol_replay import (
    Arrangement,
    Frames,
    Links,
    Occasion,
    Replayer,
    Round,
    Steps,
)
from wireproof_kit.errors import TargetUnreachable, UsageFault
from wireproof_kit.iggy.identifiers import HIGHEST, LOWEST, PREFIX
from wireproof_kit.iggy.observe.polled import recognize_polled
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.session import SERVER
from wireproof_kit.iggy.topics import Stream
from wireproof_kit.iggy.wire.answers import Done
from wireproof_kit.iggy.wire.connection import Connection, connect_socket
from wireproof_kit.iggy.wire.login import log_in_with
from wireproof_kit.runner.patience import PUSH
from wireproof_kit.wire.http import TOKEN, transfer
from wireproof_kit.wire.transcript import Transcript
from wireproof_reports.exchange.annotation import read_bytes
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.command_shapes import payload_schema
from wireproof_spec.iggy.bodies.streams import CreateStream
from wireproof_spec.iggy.bodies.topics import CreateTopic
from wireproof_spec.iggy.frame import RESPONSE_HEAD_SIZE, Request, RequestReader
from wireproof_spec.iggy.generation import Generation
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import MESSAGE
from wireproof_spec.step_notes import LOGIN
from wireproof_spec.step_record import StepRecord, pack_bytes
from wireproof_spec.wire_error import WireError

CONTROL_PATH = b"/control/"


class ServerLinks(Links[Connection]):
    """The connections to an Iggy server in one replay of a case, by their names in the record.

    ``entering`` are those on which a login was sent that the record does not hold.
    """

    def __init__(self, server: Server, entering: Set[str]) -> None:
        super().__init__()
        self._server = server
        self._entering = entering

    def connect(self, name: str) -> Connection:
        """Connect to the server; send a login where the recorded connection had one.

        The answer to the login is not read here.

        Raises:
            TargetUnreachable: nothing accepts the connection.
        """
        access = self._server.access
        link = Connection(
            connect_socket(access.address),
            transcript=self.transcript,
            patience=self._server.patience,
            address=access.address,
            counts_status=access.forms.counts_status,
        )
        if name in self._entering:
            log_in_with(link, access.login.credentials)
        return link

    def request(self, name: str, data: bytes, what: str) -> None:
        """Send a recorded request to the HTTP API or the control API, with a token valid now."""
        access = self._server.access
        target = data.split(b" ", 2)[1:2]
        is_control = bool(target) and target[0].startswith(CONTROL_PATH)
        address = access.control if is_control else access.http
        if address is None:
            key = "--control" if is_control else "--http"
            raise TargetUnreachable(f"the exchange has HTTP requests; give {key} HOST:PORT")
        shown = f"Bearer {TOKEN}\r\n".encode()
        own = shown
        if shown in data:
            token = access.control_token if is_control else access.login.token(address)
            own = f"Bearer {token}\r\n".encode()
        self.transcript.add("request", name, data=data, note=what)
        method = data.split(b" ", 1)[0].decode("latin-1")
        seconds = self._server.patience.seconds(PUSH)
        answer = transfer(
            address,
            data.replace(shown, own, 1),
            seconds=seconds,
            method=method,
            together=self.transcript.together,
        )
        note = answer.failure or str(answer.status)
        self.transcript.add("response", name, data=answer.received, note=note)

    def receive(self, name: str) -> None:
        """Receive the next answer on a connection, or record that none came."""
        if name in self.links:
            self.links[name].receive(PUSH)

    def close_all(self) -> None:
        """Close every connection, and delete the streams that were created for the replay."""
        super().close_all()
        self._server.close()


VOLATILE = frozenset({"timestamp", "id", "created_at", "name", "client_id", "address"})
"""Fields that differ from run to run, by their last names, as answers name them."""

LOGIN_CLAUSE = "iggy.frame.login"
CODE = slice(4, 8)
POLLS = commands.POLL_MESSAGES.to_bytes(4, "little")
FRAME_LIMIT = 64 * 1024 * 1024
_STREAM_NAME = re.compile(rf"{PREFIX}(?!topic_)([0-9a-z]+)_\d+".encode())


@dataclass(frozen=True, slots=True)
class Recorded:
    """The streams of a recorded exchange, by number: those of its topics, and those it created.

    ``names`` are streams that the record uses without creating them. ``tokens`` are the parts of
    names that differ from run to run.
    """

    used: frozenset[int]
    made: frozenset[int]
    names: tuple[bytes, ...]
    tokens: tuple[bytes, ...]


def replayer() -> Replayer:
    """Return the functions that replay a recorded exchange with an Iggy server."""
    return Replayer(arrange, _renew, _is_beat, _rank, VOLATILE, {}, sort_polled_headers)


def arrange(occasion: Occasion) -> Arrangement:
    """Return the rounds of a replay; each round has a new stream in place of the recorded one.

    Raises:
        UsageFault: the case logs in by itself, which the record does not hold.
    """
    case = occasion.case
    if case.clause == LOGIN_CLAUSE:
        raise UsageFault(
            f"{case.case} logs in, which the record does not hold; run the case again instead: "
            f"wireproof run URL {case.case}"
        )
    steps = case.transcript.steps
    return Arrangement(steps, tuple(_round(steps, occasion) for _ in range(occasion.times)))


def _round(steps: Steps, occasion: Occasion) -> Round:
    arguments = occasion.session.arguments((SERVER,), Transcript())
    server = cast(Server, arguments[SERVER])
    entering = frozenset(step.conn for step in steps if step.note.startswith(LOGIN))
    links = ServerLinks(server, entering)
    if occasion.arguments is None:
        return Round(steps, {}, links)
    found = streams_of(steps, server.generation)
    numbers = {number: fresh_number(number) for number in sorted(found.used | found.made)}
    tokens = {token: fresh_token(token) for token in found.tokens}
    for number in sorted(found.used - found.made):
        name = next(iter(found.names), f"{PREFIX}{secrets.token_hex(6)}_1".encode())
        _make(server, Stream(numbers[number], _replace_names(name, _map_names(tokens)).decode()))
    server.will_delete(*(Stream(numbers[number], "") for number in sorted(found.made)))
    names = {_encode_number(old): _encode_number(new) for old, new in numbers.items()}
    return Round(renewed_steps(steps, numbers, tokens), names, links)


def _make(server: Server, stream: Stream) -> None:
    payload = CreateStream(stream.number, stream.name)
    if not isinstance(server.ask(commands.CREATE_STREAM, payload), Done):
        raise UsageFault(f"the target does not make stream {stream.number} for the exchange")
    server.will_delete(stream)


def streams_of(steps: Steps, generation: Generation) -> Recorded:
    """Return the streams that a recorded exchange uses and creates."""
    used, made, named = set[int](), set[int](), set[str]()
    for request in _requests(steps):
        value = _payload(request, generation)
        if isinstance(value, CreateStream):
            made.add(value.stream_id)
            named.add(value.name)
        elif isinstance(value, CreateTopic) and value.stream.number is not None:
            used.add(value.stream.number)
    sent = b"".join(read_bytes(step) for step in steps if step.kind in ("send", "request"))
    found = dict.fromkeys((match[0], match[1]) for match in _STREAM_NAME.finditer(sent))
    names = tuple(name for name, _ in found if name.decode() not in named)
    tokens = dict.fromkeys(token for _, token in found)
    return Recorded(_own(used), _own(made), names, tuple(tokens))


def _own(numbers: Iterable[int]) -> frozenset[int]:
    """Keep only the numbers that a run gives to its own streams."""
    return frozenset(number for number in numbers if LOWEST <= number < HIGHEST)


def renewed_steps(
    steps: Steps, numbers: Mapping[int, int], tokens: Mapping[bytes, bytes]
) -> Steps:
    """Return recorded steps with other stream numbers and name parts in all sent bytes.

    No length changes.
    """
    wire = {old.to_bytes(4, "little"): new.to_bytes(4, "little") for old, new in numbers.items()}
    text = {str(old).encode(): str(new).encode() for old, new in numbers.items()}
    named = _map_names(tokens)
    streams = {
        conn: _replace_names(data, wire | named) for conn, data in _join_sent(steps).items()
    }
    taken: dict[str, int] = defaultdict(int)
    renewed: list[StepRecord] = []
    for step in steps:
        if step.kind == "send":
            start = taken[step.conn]
            taken[step.conn] += len(read_bytes(step))
            renewed.append(_with(step, streams[step.conn][start : taken[step.conn]]))
        elif step.kind == "request":
            renewed.append(_with(step, _replace_names(read_bytes(step), text | named)))
        else:
            renewed.append(step)
    return tuple(renewed)


def _map_names(tokens: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    prefix = PREFIX.encode()
    lower = {prefix + old + b"_": prefix + new + b"_" for old, new in tokens.items()}
    return lower | {old.upper(): new.upper() for old, new in lower.items()}


def fresh_number(old: int) -> int:
    """Return a random stream number with as many digits as the old one."""
    least = max(LOWEST, int("1".ljust(len(str(old)), "0")))
    most = min(HIGHEST, int("9" * len(str(old))))
    return least + secrets.randbelow(most - least)


def fresh_token(old: bytes) -> bytes:
    """Return a random part of a name, of the same length as the old one."""
    return secrets.token_hex(len(old))[: len(old)].encode()


def _join_sent(steps: Steps) -> dict[str, bytes]:
    sent: dict[str, bytes] = defaultdict(bytes)
    for step in steps:
        if step.kind == "send":
            sent[step.conn] += read_bytes(step)
    return sent


def _requests(steps: Steps) -> Iterator[Request]:
    """Yield the whole requests that were sent, as far as each connection can be read."""
    for data in _join_sent(steps).values():
        reader = RequestReader(FRAME_LIMIT)
        reader.feed(data)
        try:
            while isinstance(request := reader.next_request(), Request):
                yield request
        except WireError:
            continue


def _payload(request: Request, generation: Generation) -> object:
    try:
        return decode(payload_schema(request.code, generation), request.payload)
    except (LookupError, WireError):
        return None


def _replace_names(data: bytes, names: Mapping[bytes, bytes]) -> bytes:
    for old, new in names.items():
        data = data.replace(old, new)
    return data


def _with(step: StepRecord, data: bytes) -> StepRecord:
    return msgspec.structs.replace(step, **{"hex": "", "deflate": "", **pack_bytes(data)})


def _encode_number(number: int) -> bytes:
    return f"stream {number}".encode()


def _renew(data: bytes, recorded: Frames, came: Frames) -> bytes:
    """Poll from the time of the message that came now in the place of the recorded one."""
    if data[CODE] != POLLS:
        return data
    times = zip(_times(recorded), _times(came), strict=False)
    near = {old + step: new + step for old, new in times for step in (-1, 0, 1)}
    wire = {old.to_bytes(8, "little"): new.to_bytes(8, "little") for old, new in near.items()}
    return _replace_names(data, wire)


def sort_polled_headers(data: bytes, sent: Frames) -> bytes:
    """Return a poll answer with each message's headers sorted by key: servers have no order."""
    if not sent or sent[-1][CODE] != POLLS:
        return data
    polled = recognize_polled(Done(data[RESPONSE_HEAD_SIZE:]))
    if polled.layout != "published" or not polled.seen:
        return data
    before = data[: RESPONSE_HEAD_SIZE + polled.seen[0].position]
    ordered = (
        replace(message, headers=_sort_headers(message.headers)) for message in polled.messages
    )
    return before + b"".join(encode(MESSAGE, each) for each in ordered)


def _sort_headers(headers: tuple[Header, ...]) -> tuple[Header, ...]:
    return tuple(sorted(headers, key=lambda header: header.key))


def _times(frames: Frames) -> list[int]:
    """Return the timestamps of the messages among received frames."""
    bodies = (recognize_polled(Done(frame[RESPONSE_HEAD_SIZE:])) for frame in frames)
    return [message.timestamp for polled in bodies for message in polled.messages]


def _is_beat(data: bytes) -> bool:
    """Nothing comes by the clock."""
    return False


def _rank(data: bytes) -> bytes:
    """Answers come in the order of their requests."""
    return b""
