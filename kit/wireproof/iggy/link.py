"""What replaying an Iggy exchange needs: connections that get in, and the HTTP API beside them."""

from collections.abc import Set

from wireproof_kit.errors import TargetUnreachable
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.wire.connection import Connection, connect_socket
from wireproof_kit.iggy.wire.login import log_in_with
from wireproof_kit.runner.patience import PUSH
from wireproof_kit.wire.http import TOKEN, transfer
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.transcript import Transcript

CONTROL_PATH = b"/control/"


class ServerLinks:
    """The connections of one replayed exchange, by the names they had in the record.

    ``entering`` are those on which a login was sent that the record does not hold.
    """

    def __init__(self, server: Server, entering: Set[str]) -> None:
        self.transcript = Transcript()
        self._server = server
        self._entering = entering
        self._links: dict[str, Connection] = {}

    def open(self, name: str) -> None:
        """Connect, and log in where that was done; its answer is yet to be received.

        Raises:
            TargetUnreachable: nothing accepts the connection.
        """
        access = self._server.access
        link = Connection(
            connect_socket(access.address),
            transcript=self.transcript,
            patience=self._server.patience,
            address=access.address,
        )
        self._links[name] = link
        if name in self._entering:
            log_in_with(link, access.login.credentials)

    def send(self, name: str, outgoing: Outgoing) -> None:
        """Send bytes as they are."""
        if name in self._links:
            self._links[name].send(outgoing)

    def request(self, name: str, data: bytes, what: str) -> None:
        """Send a request to the HTTP or the control API, with a token that holds now."""
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
        answer = transfer(address, data.replace(shown, own, 1), seconds=seconds, method=method)
        note = answer.failure or str(answer.status)
        self.transcript.add("response", name, data=answer.received, note=note)

    def receive(self, name: str) -> None:
        """Take the next answer, or that there is none."""
        if name in self._links:
            self._links[name].receive(PUSH)

    def half_close(self, name: str) -> None:
        """End the connection: no case of this protocol ends its sending direction alone."""
        self.close(name)

    def close(self, name: str) -> None:
        """End a connection."""
        if name in self._links:
            self._links[name].close()

    def close_all(self) -> None:
        """End every connection, and delete what was made for the exchange."""
        for link in self._links.values():
            link.close()
        self._server.close()
