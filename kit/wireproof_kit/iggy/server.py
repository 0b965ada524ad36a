"""The target as one case uses it: connections, topics, sending and polling."""

from dataclasses import replace

from wireproof_kit.errors import AllowedRefused, ArrangementFailed
from wireproof_kit.iggy.access import Access
from wireproof_kit.iggy.http_server import HttpServer, partition_of
from wireproof_kit.iggy.observe.observations import observe, observe_http
from wireproof_kit.iggy.observe.polled import Polled, join_polled, read_polled
from wireproof_kit.iggy.topics import Stream, Topic
from wireproof_kit.iggy.wire import generations, payloads, requests
from wireproof_kit.iggy.wire.answers import Answer, Closed, Done, ErrorStatus
from wireproof_kit.iggy.wire.connection import Connection, connect_socket
from wireproof_kit.iggy.wire.http import is_success
from wireproof_kit.iggy.wire.login import log_in
from wireproof_kit.iggy.wire.payloads import POLLING, Polling
from wireproof_kit.observation import Observation
from wireproof_kit.runner.patience import ANSWER, PUSH, Patience, Wait
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Transcript
from wireproof_kit.wire.waiting import until
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.command_shapes import Payload
from wireproof_spec.iggy.bodies.consumer_offsets import GetConsumerOffset, StoreConsumerOffset
from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.bodies.send_messages import SendMessages, SentMessage
from wireproof_spec.iggy.bodies.streams import CreateStream, StreamRequest
from wireproof_spec.iggy.bodies.topics import CreateTopic, TopicRequest
from wireproof_spec.iggy.generation import CREATE_FORMS, Generation
from wireproof_spec.iggy.kinds import OFFSET
from wireproof_spec.wire_error import WireError

# What only prepares an experiment decides nothing, so a busy machine is given more time.
PREPARING = PUSH


class Server(HttpServer):
    """One case's access to the target; not thread-safe; closing it deletes its topics.

    A case's preparing requests go over TCP, or over HTTP if ``over_http``.
    """

    def __init__(self, access: Access, *, transcript: Transcript, patience: Patience) -> None:
        super().__init__(access, transcript=transcript, patience=patience)
        self.over_http = False
        self._own: Connection | None = None
        self._open: list[Connection] = []
        self._topics: list[Topic] = []
        self._streams: list[Stream] = []
        self.left_behind: list[str] = []

    @property
    def generation(self) -> Generation:
        """Return the protocol generation that the target speaks."""
        return self.access.forms.generation

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
            counts_status=self.access.forms.counts_status,
        )
        self._open.append(connection)
        if enter:
            answer = self.access.login.enter(connection, PREPARING)
            if answer is not None and not isinstance(answer, Done):
                raise ArrangementFailed(f"the login was answered {observe(answer).describe()}")
        return connection

    @property
    def client(self) -> Connection:
        """Return the connection for the case's ordinary requests; open one if there is none."""
        if self._own is None or self._own.has_ended:
            self._own = self.connect()
        return self._own

    def request(self, code: int, payload: Payload) -> Outgoing:
        """Return the bytes of a request in the forms that the target speaks."""
        return requests.request(code, payload, self.generation, self.access.forms.create)

    def ask(self, code: int, payload: Payload, wait: Wait = ANSWER) -> Answer:
        """Send a request on the case's own connection and return the response."""
        return self.client.ask(self.request(code, payload), wait)

    def others(self) -> str:
        """Check that a new connection is served: ``others-open``, or ``others-`` and a failure."""
        with self.connect(enter=False) as other:
            login = self.access.login.enter(other, PREPARING)
            if login is None or isinstance(login, Done):
                return f"others-{other.goes_on()}"
        states = {"closed": "closed", "silent": "stuck", "nonsense": "nonsense"}
        return f"others-{states.get(login.kind, 'broken')}"

    def refusal(self, outgoing: Outgoing) -> Observation:
        """Send a request on a new connection; observe the answer, and if others are served."""
        with self.connect() as connection:
            answer = connection.ask(outgoing)
        observation = observe(answer)
        state = self.others()
        return replace(
            observation.then(state), overdue=observation.overdue or state == "others-stuck"
        )

    def new_stream(self, *, apart: bool = False) -> Stream:
        """Create a stream that is deleted at the end of the case.

        `apart`: the name differs from every other stream's name in more than one character.

        Raises:
            ArrangementFailed: the stream could not be created.
        """
        stream = self.access.identifiers.stream()
        stream = self._create_stream(stream.apart() if apart else stream)
        self._streams.append(stream)
        return stream

    def new_topic(self, partitions: int = 1, stream: Stream | None = None) -> Topic:
        """Create a topic, in the run's stream by default; it is deleted at the end of the case.

        Raises:
            ArrangementFailed: the topic could not be created.
        """
        home = stream or self.access.identifiers.shared_stream(
            lambda: self._create_stream(self.access.identifiers.stream())
        )
        number = self.access.identifiers.topic_number()
        topic = Topic(home, number, self.access.identifiers.topic_name(number), partitions)
        self._must_create(
            "create_topic", self.request(commands.CREATE_TOPIC, self.topic_to_create(topic))
        )
        self._topics.append(topic)
        return topic

    def topic_to_create(self, topic: Topic) -> CreateTopic:
        """Return the payload of the request that creates a topic."""
        return payloads.topic_to_create(topic, self.access.forms.create)

    def stream_request(self, stream: Stream) -> Outgoing:
        """Return the request that creates a stream."""
        return self.request(commands.CREATE_STREAM, CreateStream(stream.number, stream.name))

    def log_in_after_all(self) -> bool:
        """Log in on each connection from now on, if the target accepts a login; return True then.

        For a target that refuses without a login more than the first contact showed.
        """
        login = self.access.login
        if not login.is_required:
            with self.connect(enter=False) as connection:
                answer = log_in(connection, login.credentials, PREPARING)
            login.is_required = isinstance(answer, Done)
            self._own = None
        return login.is_required

    def will_delete(self, *made: Stream | Topic) -> None:
        """Register a stream or topic that the case created itself for deletion at its end."""
        self._streams += [each for each in made if isinstance(each, Stream)]
        self._topics += [each for each in made if isinstance(each, Topic)]

    def send_request(
        self,
        topic: Topic,
        *messages: SentMessage,
        partition: int | None = None,
        partitioning: Partitioning | None = None,
        by: tuple[Identifier, Identifier] | None = None,
    ) -> Outgoing:
        """Return the request that sends messages to a topic.

        ``partitioning`` overrides ``partition``. ``by`` identifies stream and topic otherwise than
        by number.
        """
        stream, name = by or (topic.stream.id, topic.id)
        where = partitioning or partition_of(topic, partition)
        return self.request(
            commands.SEND_MESSAGES, SendMessages(stream, name, where, tuple(messages))
        )

    def send(
        self,
        topic: Topic,
        *messages: SentMessage,
        partition: int | None = None,
        partitioning: Partitioning | None = None,
        wait: Wait = ANSWER,
    ) -> Answer:
        """Send messages in one request and return the response."""
        outgoing = self.send_request(
            topic, *messages, partition=partition, partitioning=partitioning
        )
        return self.client.ask(outgoing, wait)

    def send_accepted(
        self,
        topic: Topic,
        *messages: SentMessage,
        partition: int | None = None,
        partitioning: Partitioning | None = None,
    ) -> None:
        """Send messages in one request that must succeed.

        Raises:
            ArrangementFailed: the server refused the messages.
        """
        refused = self._send_refused(
            topic, *messages, partition=partition, partitioning=partitioning
        )
        if refused is not None:
            way = "POST" if self.over_http else "send"
            raise ArrangementFailed(f"a right {way} was answered {refused.value}")

    def send_allowed(
        self,
        topic: Topic,
        *messages: SentMessage,
        partitioning: Partitioning | None = None,
    ) -> None:
        """Send messages that the clause of the case allows, in one request.

        Raises:
            AllowedRefused: the server refused the messages, so that the case fails.
        """
        refused = self._send_refused(topic, *messages, partitioning=partitioning)
        if refused is not None:
            raise AllowedRefused(refused)

    def _send_refused(
        self,
        topic: Topic,
        *messages: SentMessage,
        partition: int | None = None,
        partitioning: Partitioning | None = None,
    ) -> Observation | None:
        """Send messages over TCP or HTTP; return what is seen of a refusal, or None."""
        if self.over_http:
            posted = self.post(topic, *messages, partition=partition, partitioning=partitioning)
            return None if is_success(posted) else observe_http(posted)
        answer = self.send(
            topic, *messages, partition=partition, partitioning=partitioning, wait=PREPARING
        )
        return None if isinstance(answer, Done) else observe(answer)

    def poll_request(
        self,
        topic: Topic,
        polling: Polling = POLLING,
        *,
        by: tuple[Identifier, Identifier] | None = None,
    ) -> Outgoing:
        """Return the request that polls messages of a topic.

        ``by`` identifies stream and topic otherwise than by number.
        """
        payload = payloads.poll_payload(topic, polling, self.generation, by=by)
        return self.request(commands.POLL_MESSAGES, payload)

    def poll(
        self,
        topic: Topic,
        polling: Polling = POLLING,
        *,
        by: tuple[Identifier, Identifier] | None = None,
        on: Connection | None = None,
    ) -> Polled:
        """Poll once and return the decoded response."""
        client = on or self.client
        return read_polled(
            client.ask(self.poll_request(topic, polling, by=by)), self.access.forms.head
        )

    def poll_until(self, topic: Topic, due: int, polling: Polling = POLLING) -> Polled:
        """Poll until ``due`` messages arrive or patience has passed; return the last response.

        A server may take a moment between its answer to a send and the next poll.
        """

        def look() -> Polled | None:
            polled = self.poll_on(topic, due, polling)
            return polled if len(polled.seen) >= due or not polled.is_readable else None

        found = until(look, seconds=self.client.seconds(ANSWER), every=0.02)
        if found is None:
            return self.poll(topic, polling)
        return self.poll_on(topic, due, polling) if self.polls_again else found

    def poll_on(self, topic: Topic, due: int, polling: Polling = POLLING) -> Polled:
        """Poll, and poll on behind the last message as long as that returns some more.

        No text says that a response has as many messages as the poll asks for.
        """
        polled = self.poll(topic, polling)
        while polled.seen and len(polled.seen) < due and polling.strategy == OFFSET:
            behind = polled.messages[-1].offset + 1
            following = self.poll(topic, replace(polling, value=behind))
            if not following.seen:
                break
            polled = join_polled(polled, following)
        return polled

    def sent_and_polled(self, topic: Topic, *messages: SentMessage) -> Polled:
        """Send messages in one request, which must succeed; poll them and return the response."""
        self.send_accepted(topic, *messages)
        return self.poll_until(topic, len(messages), Polling(count=len(messages) + 1))

    def allowed_and_polled(self, topic: Topic, *messages: SentMessage) -> Polled:
        """Send messages that the clause of the case allows; poll them and return the response.

        Raises:
            AllowedRefused: the server refused the messages, so that the case fails.
        """
        self.send_allowed(topic, *messages)
        return self.poll_until(topic, len(messages), Polling(count=len(messages) + 1))

    def store_offset(
        self, topic: Topic, offset: int, *, consumer: int = 1, partition: int | None = None
    ) -> Answer:
        """Store a consumer's offset and return the response."""
        payload = StoreConsumerOffset(
            generations.consumer(consumer, self.generation),
            topic.stream.id,
            topic.id,
            topic.partition if partition is None else partition,
            offset,
        )
        return self.ask(commands.STORE_CONSUMER_OFFSET, payload)

    def ask_offset(
        self, topic: Topic, *, consumer: int = 1, partition: int | None = None
    ) -> Answer:
        """Request a consumer's stored offset and return the response."""
        payload = GetConsumerOffset(
            generations.consumer(consumer, self.generation),
            topic.stream.id,
            topic.id,
            topic.partition if partition is None else partition,
        )
        return self.ask(commands.GET_CONSUMER_OFFSET, payload)

    def stored_offset(
        self, topic: Topic, *, consumer: int = 1, partition: int | None = None
    ) -> int | None:
        """Return a consumer's stored offset; None without one or with an unreadable answer."""
        answer = self.ask_offset(topic, consumer=consumer, partition=partition)
        if not isinstance(answer, Done):
            return None
        try:
            return generations.stored_offset(answer.body, self.access.forms.stored_offset)
        except WireError:
            return None

    def close(self, *, leave: bool = False) -> None:
        """Close the case's connections, and delete what it created unless `leave`."""
        for connection in self._open:
            connection.close()
        if not leave and (self._topics or self._streams):
            self._delete()

    def delete_stream(self, stream: Stream) -> Answer:
        """Delete a stream and return the response."""
        return self.ask(commands.DELETE_STREAM, StreamRequest(stream.id))

    def delete_topic(self, topic: Topic) -> Answer:
        """Delete a topic and return the response."""
        return self.ask(commands.DELETE_TOPIC, TopicRequest(topic.stream.id, topic.id))

    def _delete(self) -> None:
        """Send a delete request on a connection that the case did not use."""
        cleaner = Server(self.access, transcript=Transcript(), patience=self.patience)
        try:
            is_over = any(isinstance(cleaner.delete_topic(each), Closed) for each in self._topics)
            gone = Done | ErrorStatus  # a refusal says that the case has deleted it
            self.left_behind = [
                stream.name
                for stream in self._streams
                if is_over or not isinstance(cleaner.delete_stream(stream), gone)
            ]
        finally:
            cleaner.close()

    def _create_stream(self, stream: Stream) -> Stream:
        self._must_create("create_stream", self.stream_request(stream))
        return stream

    def _must_create(self, what: str, outgoing: Outgoing) -> None:
        answer = self.client.ask(outgoing, PREPARING)
        if not isinstance(answer, Done):
            form = self.access.forms.create
            raise ArrangementFailed(
                f"{what}: {observe(answer).describe()}; the request had the layout {form} "
                f"({CREATE_FORMS[form]})"
            )
