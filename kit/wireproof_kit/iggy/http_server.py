"""The target as one case uses it without TCP: HTTP, the control API and the data directory."""

from collections.abc import Mapping
from dataclasses import replace

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.iggy.access import Access
from wireproof_kit.iggy.control import ControlClient
from wireproof_kit.iggy.observe.disk import DataDirectory
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.http import HttpClient, JsonPolled, json_polled, messages_body
from wireproof_kit.runner.patience import ANSWER, REDELIVERY, Patience, machine_load
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.http import Query, TransferResult
from wireproof_kit.wire.transcript import Transcript
from wireproof_kit.wire.waiting import until
from wireproof_spec.iggy.bodies.partitioning import Partitioning, partition_id
from wireproof_spec.iggy.bodies.send_messages import SentMessage


class HttpServer:
    """One case's access to the target's HTTP API, its control API and its data directory.

    If ``polls_again``, each poll is repeated, and the case sees the second response.
    """

    def __init__(self, access: Access, *, transcript: Transcript, patience: Patience) -> None:
        self.access = access
        self.transcript = transcript
        self.patience = patience
        self.polls_again = False

    @property
    def http(self) -> HttpClient:
        """Return the client of the target's HTTP API.

        Raises:
            ArrangementFailed: no HTTP address is known.
        """
        if self.access.http is None:
            raise ArrangementFailed("no HTTP address of the target is known; give --http")
        token = self.access.login.token(self.access.http)
        return self._http_at(self.access.http, token)

    def post(
        self,
        topic: Topic,
        *messages: SentMessage | Mapping[str, object],
        partition: int | None = None,
        partitioning: Partitioning | None = None,
    ) -> TransferResult:
        """Send messages over HTTP and return the response; a message may be any JSON object."""
        body = messages_body(messages, partitioning or partition_of(topic, partition))
        return self.http.post(f"{topic.path}/messages", body)

    def get(self, topic: Topic, **query: object) -> JsonPolled:
        """Poll over HTTP, by default the first hundred messages; ``query`` overrides that."""
        whole = {
            "partition_id": topic.partition,
            "kind": "offset",
            "value": topic.start,
            "count": 100,
        }
        return self.get_by(topic, {**whole, **query})

    def get_by(self, topic: Topic, query: Query | str) -> JsonPolled:
        """Poll over HTTP with exactly this query and no default parameters."""
        return json_polled(self.http.get(f"{topic.path}/messages", query))

    def offset_body(self, topic: Topic, offset: int, *, consumer: int = 1) -> dict[str, object]:
        """Return the JSON body of the HTTP request that stores a consumer's offset.

        The consumer's number has both of the names that servers use; a server ignores the other.
        """
        who = {"id": str(consumer), "consumer_id": str(consumer)}
        return {**who, "partition_id": topic.partition, "offset": offset}

    def get_until(self, topic: Topic, due: int, **query: object) -> JsonPolled:
        """Poll over HTTP until ``due`` messages arrive or patience ends; return the response."""

        def look() -> JsonPolled | None:
            polled = self._get_on(topic, due, query)
            return polled if len(polled.objects) >= due or not polled.is_readable else None

        found = until(look, seconds=self.patience.seconds(ANSWER) * machine_load(), every=0.02)
        if found is None:
            return self.get(topic, **query)
        return self._get_on(topic, due, query) if self.polls_again else found

    def _get_on(self, topic: Topic, due: int, query: Mapping[str, object]) -> JsonPolled:
        """Poll over HTTP, and on behind the last message as long as that returns some more."""
        polled = self.get(topic, **query)
        while 0 < len(polled.objects) < due and "kind" not in query:
            last = polled.objects[-1].get("offset")
            if not isinstance(last, int):
                break
            following = self.get(topic, **{**query, "value": last + 1})
            if not following.objects:
                break
            polled = replace(following, objects=(*polled.objects, *following.objects))
        return polled

    @property
    def control(self) -> ControlClient:
        """Return the client of the target's control API.

        Raises:
            ArrangementFailed: no control address is known.
        """
        if self.access.control is None:
            raise ArrangementFailed(
                "no control API of the target is known; --control gives that of the reference"
            )
        return ControlClient(self._http_at(self.access.control, self.access.control_token))

    @property
    def disk(self) -> DataDirectory:
        """Return the reader of the target's data directory.

        Raises:
            ArrangementFailed: the directory is not known.
        """
        return DataDirectory(self.access.data, self.patience.seconds(REDELIVERY))

    def _http_at(self, address: Address, token: str) -> HttpClient:
        seconds = self.access.http_seconds
        return HttpClient(address, transcript=self.transcript, seconds=seconds, token=token)


def partition_of(topic: Topic, partition: int | None) -> Partitioning:
    """Return the partitioning that names a partition, that of the topic by default."""
    return partition_id(topic.partition if partition is None else partition)
