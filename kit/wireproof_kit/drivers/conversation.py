"""The kit's side of the driver protocol, without I/O: bytes in, lines out, and what is owed.

Rules: the greeting comes first and once; an answer has the id of a request that is not answered
yet; between the greeting and the end there are answers and events only.
"""

from collections.abc import Iterator, Mapping

from wireproof_kit.drivers.output import LineSplitter
from wireproof_spec.driver.lines import (
    MAX_LINE_BYTES,
    NAME,
    OPEN,
    VERSION,
    Event,
    Hello,
    Line,
    LineFault,
    Members,
    read_line,
    request_line,
)
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wording import show_value


class Conversation:
    """The requests to one driver and its answers, as lines of JSON; it does no I/O.

    With ``is_part``, it is known that lines are missing: of their order nothing is asked.
    """

    def __init__(self, *, is_part: bool = False) -> None:
        self._is_part = is_part
        self.hello: Hello | None = None
        self.next_id = 1
        """The id of the next request."""
        self._splitter = LineSplitter(MAX_LINE_BYTES)
        self._asked: dict[int, str] = {}

    def feed(self, data: bytes) -> Iterator[Line]:
        """Yield the decoded lines that these bytes complete.

        Raises:
            LineFault: a line breaks the protocol; the lines after it are not read.
        """
        for raw in self._splitter.feed(data):
            line = read_line(raw)
            self._check(line)
            yield line

    def request(self, op: str, fields: Members | None = None) -> tuple[int, bytes]:
        """Return the id and the bytes of a new request."""
        number, self.next_id = self.next_id, self.next_id + 1
        self._asked[number] = op
        return number, request_line(number, op, fields or {})

    def open(self, settings: Mapping[str, JsonValue]) -> tuple[int, bytes]:
        """Return id and bytes of the first request, which opens the driver with settings."""
        return self.request(OPEN, {"version": VERSION, "settings": dict(settings)})

    def _check(self, line: Line) -> None:
        if isinstance(line, Hello):
            self._greet(line)
        elif self._is_part:
            return
        elif self.hello is None:
            raise LineFault(f'expected {{"hello": "{NAME}", …}} as the first line')
        elif not isinstance(line, Event) and self._asked.pop(line.id, None) is None:
            raise LineFault(f"answers request {line.id}, which is not open")

    def _greet(self, hello: Hello) -> None:
        if self.hello is not None:
            raise LineFault("greets a second time")
        if VERSION not in hello.versions:
            raise LineFault(
                f"speaks versions {', '.join(map(str, hello.versions))} of the driver protocol; "
                f"the kit speaks {VERSION}"
            )
        if not hello.name.isprintable():
            raise LineFault(f"expected a printable name, found {show_value(hello.name)}")
        self.hello = hello
