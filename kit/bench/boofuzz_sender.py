"""boofuzz with the frame that ours are compared with; run by its own interpreter, never imported.

``python boofuzz_sender.py default|lean|find HOST PORT TOPIC CASES SECONDS`` prints one JSON line:
cases, seconds and processor time; with ``find`` also after how many seconds something was wrong:
the target is dead, or a fresh connection's publish is not answered OK.
"""

import json
import os
import socket
import sys
import time

from boofuzz import (  # type: ignore[import-not-found]  # in a virtual environment of its own
    Block,
    Bytes,
    Request,
    Session,
    Size,
    Static,
    String,
    Target,
    TCPSocketConnection,
)

PATIENCE_S = 2.0


def request(topic: str) -> Request:
    """Return PUB_EXT with its sizes, header and body, the sizes fuzzed too."""
    header = Block(
        "header",
        children=(
            Static("open", default_value='{"k":"'),
            String("value", default_value="v"),
            Static("close", default_value='"}'),
        ),
    )
    body = Block(
        "message",
        children=(
            Size("header_length", block_name="header", length=2, endian=">", fuzzable=True),
            header,
            Bytes("body", default_value=b"body", max_len=200),
        ),
    )
    return Request(
        "PUB_EXT",
        children=(
            Static("line", default_value=f"  V2PUB_EXT {topic} 0\n"),
            Size("size", block_name="message", length=4, endian=">", fuzzable=True),
            body,
        ),
    )


def publish(host: str, port: int, topic: str) -> bool:
    """Tell whether a fresh connection's publish is answered OK."""
    line = f"  V2PUB {topic} 0\n".encode() + (4).to_bytes(4, "big") + b"body"
    try:
        with socket.create_connection((host, port), PATIENCE_S) as sock:
            sock.settimeout(PATIENCE_S)
            sock.sendall(line)
            answer = sock.recv(10)
            return answer[8:10] == b"OK"
    except OSError:
        return False


def main() -> None:
    """Run boofuzz as the arguments say."""
    mode, host, port, topic, cases, seconds = sys.argv[1:]
    started = time.monotonic()
    cpu = time.process_time()
    found_s = None
    lean = mode != "default"
    more: dict[str, object] = {"fuzz_loggers": [], "web_port": None} if lean else {}
    connection = TCPSocketConnection(host, int(port), recv_timeout=PATIENCE_S)
    session = Session(
        target=Target(connection=connection),
        index_start=1,
        index_end=int(cases),
        keep_web_open=False,
        receive_data_after_fuzz=mode == "find",
        restart_threshold=1_000_000,
        crash_threshold_request=1_000_000,
        crash_threshold_element=1_000_000,
        **more,
    )
    session.connect(request(topic))
    count = 0

    def after(target, fuzz_data_logger, session, *args, **kwargs):  # type: ignore[no-untyped-def]
        nonlocal count, found_s
        count += 1
        if mode == "find" and not publish(host, int(port), topic):
            found_s = time.monotonic() - started
            raise KeyboardInterrupt
        if time.monotonic() - started > float(seconds):
            raise KeyboardInterrupt

    session.register_post_test_case_callback(after)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    shown = os.dup(1)
    os.dup2(nowhere, 1)
    try:
        session.fuzz()
    except (KeyboardInterrupt, SystemExit):
        pass
    except Exception:  # a target that is gone ends boofuzz in many ways
        found_s = found_s or time.monotonic() - started
    os.dup2(shown, 1)
    told = {"cases": count, "seconds": time.monotonic() - started}
    print(json.dumps({**told, "cpu_s": time.process_time() - cpu, "found_s": found_s}))


if __name__ == "__main__":
    main()
