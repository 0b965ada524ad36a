"""The example server; `--faulty` makes it store empty texts, against the clause."""

import argparse
import json
import socketserver
import sys
import threading
from collections.abc import Sequence
from typing import ClassVar

from wireproof_note.frame import REFUSED, STORE, STORED, frame


class Connection(socketserver.StreamRequestHandler):
    """The server's side of one connection: answers frames until the client ends it."""

    faulty: ClassVar[bool] = False

    def handle(self) -> None:
        """Receive bytes and answer each complete frame, until the client ends the connection."""
        while len(head := self.rfile.read(2)) == 2:
            size = int.from_bytes(head, "big")
            data = self.rfile.read(size)
            if len(data) < size:
                return
            right = data[:1] == bytes([STORE]) and (len(data) > 1 or self.faulty)
            answer = frame(STORED, data[1:]) if right else frame(REFUSED, b"")
            self.wfile.write(answer)


class Server(socketserver.ThreadingTCPServer):
    """The example server; it has a thread for each connection."""

    daemon_threads = True
    request_queue_size = 256  # with the usual 5, many connections at once wait for a second

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the error of a connection that the client has reset."""


def main(arguments: Sequence[str]) -> int:
    """Serve until standard input or the process ends; print a line when ready."""
    parser = argparse.ArgumentParser("wireproof serve note")
    parser.add_argument("--tcp", default="127.0.0.1:7070")
    parser.add_argument("--faulty", action="store_true")
    parser.add_argument("--until-input-ends", action="store_true")
    options, _ = parser.parse_known_args(arguments)
    host, _, port = options.tcp.rpartition(":")
    Connection.faulty = options.faulty
    with Server((host, int(port)), Connection) as server:
        print(json.dumps({"tcp": f"{host}:{server.server_address[1]}"}), flush=True)
        if options.until_input_ends:
            threading.Thread(target=_end_with_input, args=(server,), daemon=True).start()
        server.serve_forever()
    return 0


def _end_with_input(server: Server) -> None:
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
