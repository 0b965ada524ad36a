"""What the shell serves: HTTP connections, and the timer of what waits for messages."""

from collections.abc import Callable, Sequence

from wireproof_reference_impl.oms.adapter.adapter import Adapter
from wireproof_reference_impl.oms.http import HttpConnection
from wireproof_reference_impl.served import NEVER_NS, Schedule


class NoCommit:
    """Does nothing before an answer: messages are kept in memory."""

    gathers = False

    def commit(self) -> None:
        """Do nothing: messages are kept in memory."""


class AdapterSource:
    """An adapter as the shell serves it."""

    open = True
    halted = False

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.schedule = Schedule()

    def run_timers(self, now_ns: int) -> None:
        """Answer the requests that are due, and set the time of the next call."""
        self.adapter.look(now_ns)
        self.set_alarm()

    def set_alarm(self) -> None:
        """Set the time at which the shell must run the timers next."""
        due_ns = self.adapter.next_due_ns
        self.schedule.due_ns = NEVER_NS if due_ns is None else due_ns

    def connect(self, address: Callable[[], str], now_ns: int) -> "Link":
        """Return the link of a connection that was accepted."""
        return Link(self, address())


class Link:
    """Adapts an HTTP connection to the interface that the server's I/O loop drives."""

    def __init__(self, source: AdapterSource, client: str) -> None:
        self._source = source
        self._connection = HttpConnection(source.adapter, client, self._note_output)

    @property
    def closed(self) -> bool:
        """Return True if the connection ends once its output is sent."""
        return self._connection.closed

    def receive(self, data: bytes, now_ns: int) -> None:
        """Process bytes from the client."""
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
        """Return the bytes to send, and clear the output buffer."""
        return self._connection.take_output()

    def _follow(self) -> None:
        self._note_output()
        self._source.set_alarm()

    def _note_output(self) -> None:
        self._source.schedule.changed[self] = None


class Whole:
    """How output is written to sockets: at once and in one piece."""

    flush_delay_ms = 0

    @staticmethod
    def pieces(data: bytes) -> Sequence[bytes]:
        """Return the data as one piece."""
        return (data,)
