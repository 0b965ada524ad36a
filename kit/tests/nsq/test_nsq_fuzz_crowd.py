"""Many publishers at once: an answer with the trace id of another one is noticed."""

import socket
import threading
import time
from collections.abc import Callable

from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.send.connection import CaseConnection
from wireproof_kit.nsq.fuzz.answers import ATTENTIVE, FrameReader
from wireproof_kit.nsq.fuzz.exercises import crowd
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_spec.nsq.frame import error_frame, response_frame

LINE = b"PUB_TRACE t 0\n"
SIZE = len(LINE) + 4 + 8 + len(crowd.BODY)


def answer(trace_id: bytes) -> bytes:
    return response_frame(b"OK" + bytes(8) + trace_id + bytes(12))


def told_by(reply: Callable[[int, bytes], bytes]) -> Trouble | None:
    """Let two publishers talk to a broker that makes each answer out of number and trace id."""

    def serve() -> None:
        link, _ = listening.accept()
        with link, link.makefile("rb") as stream:
            number = 0
            while len(frame := stream.read(SIZE)) == SIZE:
                number += 1
                link.sendall(reply(number, frame[len(LINE) + 4 :][:8]))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threads = [threading.Thread(target=serve, daemon=True) for _ in range(2)]
        for each in threads:
            each.start()
        address = listening.getsockname()
        topic = Topic("t", 0, False, False, False, address)
        clients = [CaseConnection(address, FrameReader(), ATTENTIVE) for _ in range(2)]
        try:
            return crowd.publish_at_once(clients, topic, time.monotonic() + 0.2, 5.0)
        finally:
            for client in clients:
                client.close()
            for each in threads:
                each.join()


def test_own_answers_are_right() -> None:
    assert told_by(lambda _, trace_id: answer(trace_id)) is None


def test_an_answer_of_somebody_else_is_told() -> None:
    trouble = told_by(lambda number, trace_id: answer(bytes(8) if number == 99 else trace_id))

    assert trouble is not None
    assert trouble.violated == "neighbour"
    assert "belongs to another one" in trouble.words


def test_a_refusal_under_load_is_no_answer_of_somebody_else() -> None:
    refusal = error_frame("E_PUB_FAILED", "too busy")
    assert told_by(lambda number, _: refusal) is None
