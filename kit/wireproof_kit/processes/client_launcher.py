"""``python -I -S client_launcher.py PATH [OPTIONS]``: have an example client run in our place.

Our standard streams go to the fork server that listens at PATH (`client_forks`). It answers with
the exit code. If we are killed, our connection ends, and with it the client. Only built-in modules
are imported: a start takes a few milliseconds.
"""

import _socket
import os
import sys
from array import array

_CODE_BYTES = 16


def launch(path: str, options: list[str]) -> int:
    """Have the fork server at ``path`` run a client.

    Return its exit code, negative for a signal.
    """
    server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    server.connect(path)
    streams = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array("i", [0, 1, 2]))
    # The kit measures the processes of our session.
    server.sendmsg(["\0".join((str(os.getsid(0)), *options)).encode()], [streams])
    # The client has copies: when it ends, its streams must end.
    for number in range(3):
        os.close(number)
    return int(server.recv(_CODE_BYTES) or b"1")


if __name__ == "__main__":
    os._exit(launch(sys.argv[1], sys.argv[2:]) & 0xFF)
