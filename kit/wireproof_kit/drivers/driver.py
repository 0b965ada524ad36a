"""A driver that runs, and requests to it from any thread."""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Self, TypeAlias

from wireproof_kit.drivers.child import Child, Stream, start
from wireproof_kit.drivers.conversation import Conversation
from wireproof_kit.errors import TargetSilent, TargetUnreachable
from wireproof_kit.wire.waiting import Deadline
from wireproof_spec.driver.lines import (
    CLOSE,
    Answer,
    Event,
    Failure,
    Fields,
    Hello,
    LineFault,
    Members,
    Unsupported,
)

_Question: TypeAlias = Callable[[], bool]

START_WITHIN_S = 30.0
"""Seconds for a driver to start: a Java virtual machine may need ten on a busy machine."""
ANSWER_WITHIN_S = 10.0
_LAST_WORDS_WITHIN_S = 0.5
CLOSED = "closed its standard output"
MOST_EVENTS = 10_000
"""The most events that may wait to be taken; a driver that writes more is out of control."""


class Driver:
    """A running driver program, to which the kit sends requests; its methods are thread-safe."""

    def __init__(self) -> None:
        self._conversation = Conversation()
        self._changed = threading.Condition()
        self._answers: dict[int, Answer] = {}
        self._events: deque[Event] = deque()
        self._fault = ""
        self._child: Child | None = None

    @classmethod
    def start(
        cls,
        words: Sequence[str],
        *,
        settings: Fields | None = None,
        environment: Mapping[str, str] | None = None,
        within: float = START_WITHIN_S,
    ) -> Self:
        """Start a driver, wait for its greeting, and open it with these settings.

        Raises:
            UsageFault: the driver cannot be started.
            TargetUnreachable: the driver ends, breaks the protocol, or refuses to open.
            TargetSilent: the driver does not greet or answer in time.
        """
        driver = cls()
        driver._child = start(words, environment=environment, sink=driver._take)
        try:
            driver._open(settings or {}, within)
        except BaseException:
            driver.close(within=0)
            raise
        return driver

    @property
    def hello(self) -> Hello:
        """The driver's greeting."""
        hello = self._conversation.hello
        assert hello is not None  # start() has waited for it
        return hello

    @property
    def child(self) -> Child:
        """The driver's process."""
        assert self._child is not None  # start() has started it
        return self._child

    def request(
        self, op: str, fields: Members | None = None, *, within: float = ANSWER_WITHIN_S
    ) -> Answer:
        """Send a request for an operation, wait for the answer and return it.

        Raises:
            TargetUnreachable: the driver has ended or breaks the protocol.
            TargetSilent: the driver does not answer in time.
        """
        return self.answer(self.send(op, fields), op, within=within)

    def send(self, op: str, fields: Members | None = None) -> int:
        """Send a request for an operation; return its id, with which `answer` gets the answer.

        Raises:
            TargetUnreachable: the driver has ended or does not read.
        """
        with self._changed:
            number, data = self._conversation.request(op, fields)
        self.child.write(data)
        return number

    def answer(self, number: int, op: str, *, within: float = ANSWER_WITHIN_S) -> Answer:
        """Wait for the answer to the request with this id, and return it.

        Raises:
            TargetUnreachable: the driver has ended or breaks the protocol.
            TargetSilent: the driver does not answer in time.
        """
        with self._changed:
            self._wait(lambda: number in self._answers, f"no answer to {op}", within)
            return self._answers.pop(number)

    def next_event(self, *, of: int | None = None, within: float) -> Event | None:
        """Return the driver's next event, or None if none comes in time.

        ``of`` is the id of the request to which the event must belong.

        Raises:
            TargetUnreachable: the driver has ended or breaks the protocol.
        """
        with self._changed:
            try:
                self._wait(lambda: self._first(of) is not None, "", within)
            except TargetSilent:
                return None
            event = self._first(of)
            assert event is not None  # it was waited for
            self._events.remove(event)
            return event

    def is_alive(self) -> bool:
        """Return True if the driver's process runs and has not broken the protocol."""
        return not self._fault and self.child.exit_code() is None

    def find_breach(self) -> str:
        """Return how the driver, which has ended, broke the protocol; empty if it did not."""
        self.child.await_output()
        return "" if self._fault == CLOSED else self._fault

    def close(self, *, within: float = ANSWER_WITHIN_S) -> None:
        """Ask the driver to close, then end its process and all processes that it started."""
        if within and self.is_alive():
            # Whatever it says, it is ended below.
            with contextlib.suppress(TargetUnreachable, TargetSilent):
                self.request(CLOSE, within=within)
        self.child.end()

    def _open(self, settings: Fields, within: float) -> None:
        with self._changed:
            self._wait(lambda: self._conversation.hello is not None, "no greeting", within)
            number, data = self._conversation.open(settings)
        self.child.write(data)
        answer = self.answer(number, "open", within=within)
        if isinstance(answer, Failure):
            raise TargetUnreachable(f"`{self.child.command}` cannot begin: {answer.words}")
        if isinstance(answer, Unsupported):
            raise TargetUnreachable(
                f"`{self.child.command}` does not know {answer.what}, which open needs"
            )

    def _take(self, stream: Stream, data: bytes) -> None:
        """Take what the process writes; called by the thread that reads it."""
        if stream == "stderr" or self._fault:
            return
        with self._changed:
            try:
                self._read(data)
            except LineFault as fault:
                self._fault = self._fault or str(fault)
            self._changed.notify_all()

    def _read(self, data: bytes) -> None:
        if not data:
            raise LineFault(CLOSED)
        for line in self._conversation.feed(data):
            if isinstance(line, Event):
                self._events.append(line)
            elif not isinstance(line, Hello):
                self._answers[line.id] = line
        if len(self._events) > MOST_EVENTS:
            raise LineFault(f"wrote more than {MOST_EVENTS} events that nobody asked for")

    def _first(self, of: int | None) -> Event | None:
        return next((event for event in self._events if of is None or event.of == of), None)

    def _wait(self, is_there: _Question, lacking: str, within: float) -> None:
        """Wait until something is there; the lock is held."""
        deadline = Deadline(within)
        while not is_there():
            if self._fault:
                raise TargetUnreachable(self._describe_breach())
            left = deadline.left()
            if left <= 0:
                raise TargetSilent(
                    f"`{self.child.command}`: {lacking} within {within:g} s; "
                    f"{self.child.last_words()}"
                )
            self._changed.wait(left)

    def _describe_breach(self) -> str:
        # A program that ends closes its output first; how it ended is to be told.
        self.child.wait(_LAST_WORDS_WITHIN_S)
        return f"`{self.child.command}` {self._fault}; {self.child.last_words()}"
