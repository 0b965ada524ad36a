"""What the shell serves: HTTP connections, and the timer of what waits for messages."""

from collections.abc import Callable, Sequence

from wireproof_reference_impl.oms.adapter.adapter import Adapter
from wireproof_reference_impl.oms.http import HttpConnection
from wireproof_reference_impl.served import NEVER_NS, Schedule


class NoCommit:
    """Commits nothing: messages are kept in memory."""

    gathers = False

    def commit(self) -> None:
        """Do nothing."""


class AdapterSource:
    """The source of connections to one adapter."""

    open = True
    halted = False

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.schedule = Schedule()

    def run_timers(self, now_ns: int) -> None:
        """Answer what is due, and set when to look again."""
        self.adapter.look(now_ns)
        self.set_alarm()

    def set_alarm(self) -> None:
        """Set when the adapter must look again."""
        due_ns = self.adapter.next_due_ns
        self.schedule.due_ns = NEVER_NS if due_ns is None else due_ns

    def connect(self, address: Callable[[], str], now_ns: int) -> "Link":
        """Return the link of a new connection."""
        return Link(self, address())


class Link:
    """One connection, in the form that the shell serves."""

    def __init__(self, source: AdapterSource, client: str) -> None:
        self._source = source
        self._connection = HttpConnection(source.adapter, client, self._note_output)

    @property
    def closed(self) -> bool:
        """Return True if the connection ends once its output is sent."""
        return self._connection.closed

    def receive(self, data: bytes, now_ns: int) -> None:
        """Take bytes from the client."""
        self._connection.receive(data, now_ns)
        self._follow()

    def end_of_stream(self, now_ns: int) -> None:
        """Handle the end of the client's stream."""
        self._connection.end(now_ns)
        self._follow()

    def handle_loss(self, now_ns: int) -> None:
        """Handle the loss of the connection."""
        self._connection.lose()

    def take_output(self) -> bytes:
        """Return the bytes to send, and forget them."""
        return self._connection.take_output()

    def _follow(self) -> None:
        self._note_output()
        self._source.set_alarm()

    def _note_output(self) -> None:
        self._source.schedule.changed[self] = None


class Whole:
    """Writes to sockets at once and in one piece."""

    flush_delay_ms = 0

    @staticmethod
    def pieces(data: bytes) -> Sequence[bytes]:
        """Return the data as one piece."""
        return (data,)
