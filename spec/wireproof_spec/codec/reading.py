"""The state of a decoder being written: how far it has got, and the run of parts not yet read.

Neighbouring parts of fixed size are one `unpack_from`. What must hold of them is checked behind
it, in their order. Where the data ends within the run, they are read one by one instead, so that
the first part that is wrong is the one blamed, as when each is read in its turn.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from struct import Struct

from wireproof_spec.codec.source import Source


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the data: so many bytes behind the value of a variable, or behind the start."""

    base: str
    more: int

    def __str__(self) -> str:
        if self.base and self.more:
            return f"{self.base} + {self.more}"
        return self.base or str(self.more)

    def behind(self, size: int) -> "Place":
        """Return the place so many bytes further on."""
        return Place(self.base, self.more + size)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A part of fixed size: its struct code, the variables it fills, its path and place."""

    code: str
    size: int
    variables: tuple[str, ...]
    path: str
    place: Place


@dataclass(frozen=True, slots=True)
class Then:
    """Statements behind the parts before them; `checks`: also where the run is cut short."""

    text: str
    checks: bool


TOTAL = Place("total", 0)


class Reading:
    """A decoder being written, from front to back."""

    def __init__(self, code: Source) -> None:
        self.code = code
        self.place = Place("", 0)
        self.end = TOTAL
        """Where what encloses the next part ends."""
        self.reached = {TOTAL}
        """The ends that are known to lie within the data."""
        self.fitting: dict[str, tuple[Place, Place]] = {}
        """Lengths held against what is left: from which place on, up to which end."""
        self.floor = Place("", 0)
        """Up to here the bytes lie before `end`, if the same variable is the base."""
        self._run: list[Fixed | Then] = []
        self._order = ""
        self._ahead: tuple[str, Place] | None = None

    def name(self, hint: str) -> str:
        """Return a new variable."""
        return self.code.name(hint)

    def fixed(
        self, order: str, code: str, size: int, variables: tuple[str, ...], path: str
    ) -> None:
        """Read a part of fixed size, together with its neighbours."""
        if self._ahead is not None and self._ahead[1] == self.place:
            self._take_ahead(size, variables, path)
            return
        if size > 1 and not code.endswith("s"):
            if self._order not in ("", order):
                self.flush()
            self._order = order
        self._run.append(Fixed(code, size, variables, path, self.place))
        self.place = self.place.behind(size)

    def check(self, text: str) -> None:
        """Do something with the parts read so far that the next test needs."""
        self._run.append(Then(text, checks=True))

    def hold(self, test: str, error: str) -> None:
        """Refuse the parts read so far when the test holds."""
        self.check(f"if {test}:\n    raise {error} from None")

    def later(self, text: str) -> None:
        """Do something with the parts read so far that no check needs."""
        self._run.append(Then(text, checks=False))

    def flush(self, ahead: tuple[str, str, int] | None = None) -> None:
        """Write down the run: what comes next needs its values.

        `ahead` are order, code and size of a number that may stand behind it: it is read with
        the run where the data reaches so far, and taken by the next part of fixed size.
        """
        run, order = self._run, self._order or ">"
        self._run, self._order, self._ahead = [], "", None
        parts = [each for each in run if isinstance(each, Fixed)]
        if parts and ahead is not None and (ahead[0] == order or ahead[2] == 1):
            number = self.name("ahead")
            with self.code.block("try:"):
                follower = Fixed(ahead[1], ahead[2], (number,), "", self.place)
                self.code.line(self._unpack(order, *parts, follower))
            with self.code.block("except struct_error:"):
                self.code.line(f"{number} = None")
                self._read_run(order, run, parts)
            self._ahead = (number, self.place)
        elif parts:
            self._read_run(order, run, parts)
        for each in run:
            if isinstance(each, Then):
                self.code.line(each.text)

    def _read_run(self, order: str, run: list[Fixed | Then], parts: list[Fixed]) -> None:
        with self.code.block("try:"):
            self.code.line(self._unpack(order, *parts))
        with self.code.block("except struct_error:"):
            self._cut_short(order, run)
            self.code.line("raise")

    def _take_ahead(self, size: int, variables: tuple[str, ...], path: str) -> None:
        number, place = self._ahead or ("", self.place)
        self._ahead = None
        with self.code.block(f"if {number} is None:"):
            self.code.line(f"raise cut({quoted(path)}, {place}, {size}, total)")
        self.code.line(f"{variables[0]} = {number}")
        self.place = place.behind(size)

    def _cut_short(self, order: str, run: list[Fixed | Then]) -> None:
        parts = [each for each in run if isinstance(each, Fixed)]
        checks = [each for each in run[: run.index(parts[-1])] if isinstance(each, Then)]
        for each in run:
            if isinstance(each, Then):
                if each.checks:
                    self.code.line(each.text)
                continue
            path, place = quoted(each.path), each.place
            with self.code.block(f"if total < {place.behind(each.size)}:"):
                self.code.line(f"raise cut({path}, {place}, {each.size}, total) from None")
            if each is parts[-1]:
                return
            if any(check.checks for check in checks):
                self.code.line(self._unpack(order, each))

    def _unpack(self, order: str, *parts: Fixed) -> str:
        layout = Struct(order + "".join(part.code for part in parts))
        unpack = self.code.constant(layout.unpack_from, "unpack")
        variables = "".join(f"{name}, " for part in parts for name in part.variables)
        return f"{variables}= {unpack}(data, {parts[0].place})"

    def move(self, place: str) -> None:
        """Go to a place that only running can tell; the run must be flushed."""
        at = self.name("at")
        self.code.line(f"{at} = {place}")
        self.place = Place(at, 0)

    @contextmanager
    def block(self, head: str) -> Generator[None, None, None]:
        """Write what stands below a head, in which the place is moved by assignment."""
        with self.code.block(head):
            yield
            self.flush()

    @contextmanager
    def apart(self) -> Generator[None, None, None]:
        """Forget afterwards what is known of ends and lengths only inside."""
        known = set(self.reached), dict(self.fitting), self.floor
        yield
        self.reached, self.fitting, self.floor = known

    def known_to_fit(self, length: str) -> bool:
        """Return whether so many bytes are there: it was asked when the length was read."""
        place, end = self.fitting.get(length, (None, None))
        return place == self.place and end in self.reached


def joined(outer: str, name: str) -> str:
    """Return the path of a part within another."""
    dot = "." if outer and name and not name.startswith("[") else ""
    return f"{outer}{dot}{name}"


def quoted(path: str) -> str:
    """Return a path as source; a variable in braces counts repeated parts."""
    return f"f{path!r}" if "{" in path else repr(path)


def term(place: Place) -> str:
    """Return a place as a term of a sum or difference."""
    return f"({place})" if place.base and place.more else str(place)
