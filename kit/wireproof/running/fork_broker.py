"""One reference broker after another, each a copy of this process: what they import is there.

``python -m wireproof.running.fork_broker PROTOCOL`` reads a line for each broker: its options as
a JSON list. The broker says on the same stdout when it is ready; an empty line ends it, and is
answered with an empty line. The end of stdin ends everything.
"""

import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable

from wireproof_kit.protocols import server

END_WITHIN_S = 5.0
POLL_S = 0.005
SELDOM = 50_000

Serve = Callable[[list[str]], int | None]


def main(protocol: str) -> None:
    """Serve until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve = server(protocol)
    gc.freeze()  # pages that no collector touches are shared
    gc.set_threshold(SELDOM)
    child = 0
    for line in sys.stdin:
        if child:
            _end(child)
            child = 0
        if line.strip():
            child = _born(serve, json.loads(line))
        else:
            print(flush=True)
    if child:
        _end(child)


def _born(serve: Serve, options: list[str]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        code = serve(options) or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _end(child: int) -> None:
    """End a broker and wait until it is gone; one that does not go is killed."""
    os.kill(child, signal.SIGTERM)
    deadline = time.monotonic() + END_WITHIN_S
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return
        time.sleep(POLL_S)


if __name__ == "__main__":
    main(sys.argv[1])
