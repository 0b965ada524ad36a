"""What replaying an NSQ exchange needs: connections, live message ids, fields that change."""

import re
import socket
from collections.abc import Mapping, Sequence, Set

from wireproof_kit.errors import TargetUnreachable
from wireproof_kit.nsq.connection import Connection
from wireproof_kit.nsq.http import HttpClient
from wireproof_kit.nsq.outgoing import Outgoing
from wireproof_kit.patience import PUSH, Patience
from wireproof_kit.transcript import Transcript
from wireproof_reports.evidence import recorded
from wireproof_spec.nsq import names
from wireproof_spec.record import StepRecord

CONNECT_S = 5.0
TYPE = slice(4, 8)
MESSAGE = b"\0\0\0\2"
MESSAGE_ID = slice(18, 34)
TAIL = 16
ACKNOWLEDGING = (names.FIN + b" ", names.REQ + b" ", names.TOUCH + b" ")

VOLATILE = frozenset({"timestamp_ns", "internal_id", "disk_queue_offset", "id", "queue_offset"})
"""Fields that differ from run to run, as `received_parts` and HTTP answers name them."""

FRESH = {"ext_topic": "fresh_ext_topic", "plain_topic": "fresh_plain_topic"}
"""Arguments that name a shared topic, and those that name one of its own kind."""

UPGRADABLE = "upgradable_topic"

_TOPIC_NAME = re.compile(rb"\bwp_(?!channel)[0-9a-z]+_\d+\b")


class Links:
    """The connections of one replayed exchange, by the names they had in the record."""

    def __init__(
        self, address: tuple[str, int], http: tuple[str, int] | None, patience: Patience
    ) -> None:
        self.transcript = Transcript()
        self._address = address
        self._http = http
        self._patience = patience
        self._links: dict[str, Connection] = {}

    def open(self, name: str) -> None:
        """Connect.

        Raises:
            TargetUnreachable: nothing accepts the connection.
        """
        host, port = self._address
        try:
            sock = socket.create_connection(self._address, CONNECT_S)
        except OSError as error:
            why = (error.strerror or type(error).__name__).lower()
            raise TargetUnreachable(f"cannot reach {host}:{port} ({why})") from error
        self._links[name] = Connection(
            sock, transcript=self.transcript, patience=self._patience, address=self._address
        )

    def send(self, name: str, outgoing: Outgoing) -> None:
        """Send bytes as they are."""
        if name in self._links:
            self._links[name].send(outgoing)

    def request(self, data: bytes, what: str) -> None:
        """Send an HTTP request on a connection of its own and take the answer."""
        if self._http is None:
            raise TargetUnreachable("the exchange has HTTP requests; give --http HOST:PORT")
        seconds = self._patience.seconds(PUSH)
        HttpClient(self._http, transcript=self.transcript, seconds=seconds).send(data, what=what)

    def receive(self, name: str) -> None:
        """Take the next frame, or that there is none."""
        if name in self._links:
            self._links[name].receive(PUSH)

    def half_close(self, name: str) -> None:
        """End the sending direction."""
        if name in self._links:
            self._links[name].half_close()

    def close(self, name: str) -> None:
        """End a connection."""
        if name in self._links:
            self._links[name].close()

    def close_all(self) -> None:
        """End every connection."""
        for link in self._links.values():
            link.close()


def is_beat(data: bytes) -> bool:
    """Tell whether these bytes are a heartbeat or its answer."""
    return data[8:] == names.HEARTBEAT or data == names.NOP + b"\n"


def message_ids(frames: Sequence[bytes]) -> list[bytes]:
    """Return the ids of the messages among received frames."""
    return [frame[MESSAGE_ID] for frame in frames if frame[TYPE] == MESSAGE]


def message_key(frame: bytes) -> bytes:
    """Return what orders messages whatever their time and id; nothing for other frames."""
    return b"\1" + frame[MESSAGE_ID.stop :] if frame[TYPE] == MESSAGE else b""


def with_ids(data: bytes, ids: Mapping[bytes, bytes]) -> bytes:
    """Put live message ids in the place of recorded ones."""
    if not data.startswith(ACKNOWLEDGING):
        return data
    start = data.index(b" ") + 1
    recorded = data[start : start + 16]
    return data[:start] + ids.get(recorded, recorded) + data[start + 16 :]


def own_steps(steps: Sequence[StepRecord]) -> tuple[StepRecord, ...]:
    """Leave out messages that others published to a shared topic, and their acknowledgement."""
    pairs = [(step, recorded(step)) for step in steps]
    sent = b"".join(data for step, data in pairs if step.kind in ("send", "request"))
    foreign = {
        data[MESSAGE_ID]
        for step, data in pairs
        if step.kind == "receive" and data[TYPE] == MESSAGE and data[-TAIL:] not in sent
    }
    return tuple(step for step, data in pairs if not _is_about(data, foreign))


def _is_about(data: bytes, ids: Set[bytes]) -> bool:
    if data.startswith(ACKNOWLEDGING):
        start = data.index(b" ") + 1
        return data[start : start + 16] in ids
    return data[TYPE] == MESSAGE and data[MESSAGE_ID] in ids


def topic_names(sent: Sequence[bytes]) -> list[bytes]:
    """Return the names of the kit's own topics in the order in which they were first sent."""
    found = (name for data in sent for name in _TOPIC_NAME.findall(data))
    return list(dict.fromkeys(found))
