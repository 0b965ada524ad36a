"""An Apache Iggy server as one case uses it: connections, topics, sends, polls, offsets."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.iggy.apache import batches, login, requests
from wireproof_kit.iggy.apache.answers import Answer, Replied, read_payload
from wireproof_kit.iggy.apache.connection import Connection, connect_socket
from wireproof_kit.iggy.apache.observe import Polled, observe, read_polled
from wireproof_kit.iggy.apache.requests import POLLING, Polling, Topic
from wireproof_kit.iggy.identifiers import Identifiers
from wireproof_kit.iggy.wire.http import HttpClient
from wireproof_kit.iggy.wire.login import Credentials
from wireproof_kit.runner.patience import ANSWER, PUSH, Patience, Wait, machine_load
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Transcript
from wireproof_kit.wire.waiting import until
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache import operations, statuses
from wireproof_spec.iggy.apache.batch import Batch, MessageFrame
from wireproof_spec.iggy.apache.bodies.messages import CONSUMER_OFFSET, QUORUM, ConsumerOffset
from wireproof_spec.iggy.apache.bodies.resources import STREAM, TOPIC_DETAILS
from wireproof_spec.iggy.apache.bodies.results import CONFIRMATIONS, Confirmation
from wireproof_spec.iggy.apache.envelope import Envelope, LoggedIn
from wireproof_spec.iggy.bodies.identifier import Identifier, make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import Partitioning, partition_id
from wireproof_spec.wire_error import WireError

_TRANSIENT: Final = {
    str(statuses.TRANSIENT_NOT_COMMITTED),
    str(statuses.TRANSIENT_NOT_ACCEPTED),
}


@dataclass(slots=True)
class Access:
    """How the cases of a run reach the target, and the stream that holds their topics."""

    address: Address
    credentials: Credentials
    envelope: Envelope
    identifiers: Identifiers
    entered: LoggedIn
    http: Address | None = None
    data: Path | None = None
    http_seconds: float = 5.0
    home: tuple[int, str] | None = None
    token: str | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class ApacheServer:
    """One case's access to the target; not thread-safe; closing it deletes its topics."""

    def __init__(self, access: Access, *, transcript: Transcript, patience: Patience) -> None:
        self.access = access
        self.transcript = transcript
        self.patience = patience
        self._own: Connection | None = None
        self._open: list[Connection] = []
        self._made: list[tuple[Identifier, Identifier | None]] = []
        self._ends: dict[tuple[int, int], int] = {}
        """The last offset that was confirmed, by topic and partition."""

    def connect(self, *, enter: bool = True) -> Connection:
        """Open a connection; log in on it if ``enter``.

        Raises:
            TargetUnreachable: the target accepts no connection.
            ArrangementFailed: the login failed.
        """
        connection = Connection(
            connect_socket(self.access.address),
            transcript=self.transcript,
            patience=self.patience,
            address=self.access.address,
        )
        self._open.append(connection)
        if enter:
            answer = login.log_in(connection, self.access.credentials, self.access.envelope)
            if login.read_entered(self.access.envelope, answer) is None:
                seen = login.observe_login(self.access.envelope, answer).value
                raise ArrangementFailed(f"the login was answered {seen}")
        return connection

    @property
    def client(self) -> Connection:
        """Return the connection for the case's ordinary requests; open one if there is none."""
        if self._own is None or self._own.has_ended:
            self._own = self.connect()
        return self._own

    def reconnect(self) -> None:
        """Use a new connection for the case's ordinary requests from now on."""
        self._own = None

    def others(self) -> str:
        """Check that a new connection is served: ``others-open``, or ``others-`` and a failure."""
        with self.connect(enter=False) as other:
            return f"others-{other.goes_on()}"

    def new_stream(self) -> tuple[int, str]:
        """Create a stream that is deleted at the end of the case; return its number and name.

        Raises:
            ArrangementFailed: the stream could not be created.
        """
        made = self._create_stream()
        self._made.append((numeric(made[0]), None))
        return made

    def new_name(self) -> str:
        """Return a name for a stream, which is deleted at the end if it is there then."""
        name = self.access.identifiers.stream().name
        self._made.append((make_named(name), None))
        return name

    def new_topic(self, partitions: int = 1) -> Topic:
        """Create a topic in the run's stream; it is deleted at the end of the case.

        Raises:
            ArrangementFailed: the topic could not be created.
        """
        with self.access.lock:
            if self.access.home is None:
                self.access.home = self._create_stream()
        stream, stream_name = self.access.home
        name = self.access.identifiers.topic_name(self.access.identifiers.topic_number())
        body = requests.create_topic_body(numeric(stream), name, partitions)
        answer = self.ask_settled(operations.CREATE_TOPIC, body)
        payload = read_payload(answer)
        try:
            made = None if payload is None else decode(TOPIC_DETAILS, payload).topic
        except WireError:
            made = None
        if made is None:
            seen = observe(answer, framed=True).value
            raise ArrangementFailed(f"create_topic was answered {seen}")
        self._made.append((numeric(stream), numeric(made.id)))
        return Topic(stream, stream_name, made.id, name, partitions)

    def ask(self, operation: int, body: Outgoing, wait: Wait = ANSWER) -> Answer:
        """Send a replicated request on the case's own connection and return the answer."""
        return self.client.ask(self.client.request(operation, body), wait)

    def ask_settled(self, operation: int, body: Outgoing) -> Answer:
        """Do the same, and again while the server says that it cannot do it at the moment."""
        last: list[Answer] = []

        def look() -> bool | None:
            last[:] = [self.ask(operation, body, PUSH)]
            is_framed = operation in operations.RESULT_FRAMED
            code = observe(last[0], framed=is_framed).value.partition(":")[2]
            return None if code in _TRANSIENT else True

        until(look, seconds=self.patience.seconds(PUSH), every=0.02)
        return last[0]

    def read(self, code: int, body: Outgoing | bytes = b"", wait: Wait = ANSWER) -> Answer:
        """Send a read on the case's own connection and return the answer."""
        return self.client.ask(self.client.read(code, body), wait)

    def send_body(
        self,
        topic: Topic,
        batch: Batch | bytes,
        *,
        partition: int | None = None,
        partitioning: Partitioning | None = None,
    ) -> Outgoing:
        """Return the body of a request that sends a batch, by default to the topic's partition."""
        number = topic.partition if partition is None else partition
        return requests.send_body(topic.by_number, partitioning or partition_id(number), batch)

    def send(
        self,
        topic: Topic,
        *frames: MessageFrame,
        partition: int | None = None,
        partitioning: Partitioning | None = None,
        origin_us: int | None = None,
    ) -> Answer:
        """Send messages in a right batch, and return the answer."""
        batch = batches.batch(*frames, origin_us=origin_us)
        body = self.send_body(topic, batch, partition=partition, partitioning=partitioning)
        return self.ask_settled(operations.SEND_MESSAGES, body)

    def send_accepted(
        self,
        topic: Topic,
        *frames: MessageFrame,
        partition: int | None = None,
        partitioning: Partitioning | None = None,
        origin_us: int | None = None,
    ) -> Confirmation:
        """Send messages that must be accepted; return where they were stored.

        Raises:
            ArrangementFailed: the server refused them.
        """
        answer = self.send(
            topic, *frames, partition=partition, partitioning=partitioning, origin_us=origin_us
        )
        found = confirmations_of(answer)
        if not found:
            raise ArrangementFailed(f"a right send was answered {observe(answer).describe()}")
        self._ends[topic.id, found[0].partition_id] = found[0].base_offset + len(frames) - 1
        return found[0]

    def poll(self, topic: Topic, polling: Polling = POLLING, *, wait: Wait = ANSWER) -> Polled:
        """Poll once and return the decoded answer."""
        body = requests.poll_body(topic.by_number, topic.partition, polling)
        return read_polled(self.read(operations.POLL_MESSAGES, body, wait), self.access.envelope)

    def poll_all(self, topic: Topic, polling: Polling = POLLING, due: int | None = None) -> Polled:
        """Poll by offset, and on behind what came, up to ``due`` messages or the newest one.

        Return all answers as one: no text says that a poll returns as many messages as it asks
        for, if there are so many.
        """
        whole = self.poll(topic, polling)
        most = polling.count if due is None else min(due, polling.count)
        while whole.body is not None and whole.offsets and len(whole.offsets) < most:
            last = whole.offsets[-1]
            if last >= whole.body.head.current_offset:
                break
            behind = replace(polling, value=last + 1, count=polling.count - len(whole.offsets))
            polled = self.poll(topic, behind)
            if polled.body is not None and (not polled.offsets or polled.offsets[0] <= last):
                break
            whole = whole.then(polled)
        return whole

    def poll_until(self, topic: Topic, due: int, polling: Polling = POLLING) -> Polled:
        """Poll all until ``due`` messages came or patience has passed; return the last answer.

        Behind the last message that was confirmed, which the server calls the newest one, there is
        nothing to wait for.
        """
        number = topic.partition if polling.partition is None else polling.partition

        def look() -> Polled | None:
            polled = self.poll_all(topic, polling, due)
            if polled.body is None or len(polled.frames) >= due:
                return polled
            newest = polled.body.head.current_offset
            end = self._ends.get((topic.id, number))
            is_whole = end is not None and polled.offsets[-1:] == (max(newest, end),)
            return polled if is_whole else None

        return self._until(look) or self.poll_all(topic, polling, due)

    def poll_for(self, topic: Topic, payload: bytes) -> Polled:
        """Poll all until a payload is among the messages or patience has passed."""

        def look() -> Polled | None:
            polled = self.poll_all(topic)
            return polled if payload in polled.payloads or polled.body is None else None

        return self._until(look) or self.poll_all(topic)

    def _until(self, look: Callable[[], Polled | None]) -> Polled | None:
        seconds = self.patience.seconds(ANSWER) * machine_load()
        return until(look, seconds=seconds, every=0.02)

    def sent_and_polled(self, topic: Topic, *frames: MessageFrame) -> Polled:
        """Send messages in one batch, which must be accepted; poll them and return the answer."""
        self.send_accepted(topic, *frames)
        return self.poll_until(topic, len(frames), Polling(count=len(frames) + 1))

    def store_offset(
        self,
        topic: Topic,
        offset: int,
        *,
        consumer: int | str = 1,
        partition: int | None = None,
        ack: int = QUORUM,
    ) -> Answer:
        """Store a consumer's offset and return the answer."""
        number = topic.partition if partition is None else partition
        who = requests.consumer(consumer)
        body = requests.store_offset_body(topic, who, number, offset, ack)
        return self.ask_settled(operations.STORE_CONSUMER_OFFSET, body)

    def ask_offset(
        self, topic: Topic, *, consumer: int | str = 1, partition: int | None = None
    ) -> Answer:
        """Ask for a consumer's stored offset and return the answer."""
        number = topic.partition if partition is None else partition
        body = requests.get_offset_body(topic, requests.consumer(consumer), number)
        return self.read(operations.GET_CONSUMER_OFFSET, body)

    def stored_offset(
        self, topic: Topic, *, consumer: int | str = 1, partition: int | None = None
    ) -> ConsumerOffset | None:
        """Return a consumer's stored offset; None without one or with an unreadable answer."""
        answer = self.ask_offset(topic, consumer=consumer, partition=partition)
        if not isinstance(answer, Replied) or not answer.is_accepted:
            return None
        try:
            return decode(CONSUMER_OFFSET, answer.body)
        except WireError:
            return None

    @property
    def http(self) -> HttpClient:
        """Return the client of the target's HTTP API, logged in.

        Raises:
            ArrangementFailed: no HTTP address is known.
        """
        address = self.access.http
        if address is None:
            raise ArrangementFailed("no HTTP address of the target is known; give --http")
        with self.access.lock:
            if self.access.token is None:
                self.access.token = self._log_in_over_http(address)
        return self._http_at(address, self.access.token)

    def close(self, *, leave: bool = False) -> None:
        """Close the case's connections, and delete what it created unless `leave`."""
        for connection in self._open:
            connection.close()
        if leave or not self._made:
            return
        cleaner = ApacheServer(self.access, transcript=Transcript(), patience=self.patience)
        try:
            for stream, topic in self._made:
                cleaner.delete(stream, topic)
        finally:
            cleaner.close()

    def delete(self, stream: Identifier, topic: Identifier | None = None) -> Answer:
        """Delete a topic, or a stream, and return the answer."""
        if topic is not None:
            return self.ask(operations.DELETE_TOPIC, requests.topic_body(stream, topic))
        return self.ask(operations.DELETE_STREAM, requests.stream_body(stream))

    def _create_stream(self) -> tuple[int, str]:
        name = self.access.identifiers.stream().name
        answer = self.ask_settled(operations.CREATE_STREAM, requests.create_stream_body(name))
        payload = read_payload(answer)
        try:
            made = None if payload is None else decode(STREAM, payload)
        except WireError:
            made = None
        if made is None:
            seen = observe(answer, framed=True).value
            raise ArrangementFailed(f"create_stream was answered {seen}")
        return made.id, name

    def _http_at(self, address: Address, token: str) -> HttpClient:
        seconds = self.access.http_seconds
        return HttpClient(address, transcript=self.transcript, seconds=seconds, token=token)

    def _log_in_over_http(self, address: Address) -> str:
        seconds = self.access.http_seconds
        client = HttpClient(address, transcript=Transcript(), seconds=seconds)
        credentials = self.access.credentials
        body = {"username": credentials.name, "password": credentials.password}
        answer = client.post("/users/login", body)
        value = answer.json.value if answer.json is not None else None
        inner = value.get("access_token") if isinstance(value, dict) else None
        token = inner.get("token") if isinstance(inner, dict) else inner
        return token if isinstance(token, str) else ""


def confirmations_of(answer: Answer) -> tuple[Confirmation, ...]:
    """Return where the messages of an accepted send were stored; nothing for other answers."""
    if not isinstance(answer, Replied) or not answer.is_accepted:
        return ()
    try:
        return decode(CONFIRMATIONS, answer.body).confirmations
    except WireError:
        return ()
