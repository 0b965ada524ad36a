"""The adapter on two streams: each line is a request, each line back a greeting or an answer."""

from collections.abc import Mapping
from typing import Final

from wireproof_reference_impl.oms.adapter.adapter import Adapter
from wireproof_reference_impl.oms.adapter.exact_json import exact_json
from wireproof_reference_impl.oms.adapter.requests import Malformed
from wireproof_spec.driver.lines import MAX_LINE_BYTES
from wireproof_spec.strict_json import JsonValue

LOCAL_CLIENT: Final = "127.0.0.1:0"


class LineConnection:
    """The connection of an adapter to the kit by lines on standard input and output.

    What is no request cannot be answered: such a line ends the connection, and `trouble` says why.
    """

    def __init__(self, adapter: Adapter) -> None:
        self.client = LOCAL_CLIENT
        self.closed = False
        self.trouble = ""
        self._adapter = adapter
        self._input = bytearray()
        self._output = [_line(adapter.hello())]

    def receive(self, data: bytes, now_ns: int) -> None:
        """Process bytes from the client; empty bytes are the end of its stream."""
        self._input += data
        while not self.closed and (end := self._input.find(b"\n")) >= 0:
            line = bytes(self._input[:end])
            del self._input[: end + 1]
            self._ask(line, now_ns)
        if not data:
            self.closed = True
        elif len(self._input) > MAX_LINE_BYTES:
            self._end(f"expected at most {MAX_LINE_BYTES} bytes in a line")

    def answer(self, answer: Mapping[str, JsonValue], now_ns: int) -> None:
        """Write an answer as a line of JSON."""
        self._output.append(_line(answer))

    def take_output(self) -> bytes:
        """Return the bytes to write, and clear the output buffer."""
        data = b"".join(self._output)
        self._output.clear()
        return data

    def _ask(self, line: bytes, now_ns: int) -> None:
        try:
            self._adapter.ask(line, self, now_ns)
        except Malformed as malformed:
            self._end(str(malformed))

    def _end(self, trouble: str) -> None:
        self.closed, self.trouble = True, trouble


def _line(value: Mapping[str, JsonValue]) -> bytes:
    return exact_json(dict(value)) + b"\n"
