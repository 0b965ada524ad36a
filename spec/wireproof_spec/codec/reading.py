"""The state of a decoder being generated: the position, and the run of parts not read yet.

Consecutive parts of fixed size (a run) are read with one `unpack_from`; their checks follow in
order. If the data ends inside the run, the parts are read one by one, so that the error names the
first wrong part, as if each had been read in turn.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from struct import Struct

from wireproof_spec.codec.source import Source


@dataclass(frozen=True, slots=True)
class Position:
    """A position in the data: `more` bytes behind the offset in variable `base`, or the start."""

    base: str
    more: int

    def __str__(self) -> str:
        if self.base and self.more:
            return f"{self.base} + {self.more}"
        return self.base or str(self.more)

    def behind(self, size: int) -> "Position":
        """Return the position `size` bytes further on."""
        return Position(self.base, self.more + size)


@dataclass(frozen=True, slots=True)
class Kind:
    """The `struct` format of a part of fixed size: byte order, format code, size in bytes."""

    order: str
    code: str
    size: int

    @property
    def ordered(self) -> bool:
        """Whether a part of this kind depends on the byte order."""
        return self.size > 1 and not self.code.endswith("s")


@dataclass(frozen=True, slots=True)
class FixedPart:
    """A part of fixed size: format, variables for its values, dotted path, and position."""

    kind: Kind
    variables: tuple[str, ...]
    path: str
    place: Position

    @property
    def after(self) -> Position:
        """The position behind the part."""
        return self.place.behind(self.kind.size)


@dataclass(frozen=True, slots=True)
class LengthCheck:
    """A check of a declared length: the bytes from `start` to variable `stop` lie before `end`."""

    start: Position
    stop: str
    """The variable of where they end."""
    end: Position


@dataclass(frozen=True, slots=True)
class Ahead:
    """A number unpacked in advance, with the parts before it; None if the data ended before it."""

    variable: str
    kind: Kind
    place: Position


@dataclass(frozen=True, slots=True)
class LaterStatements:
    """Generated statements after the parts before them; `checks`: also if data ends early."""

    text: str
    checks: bool


TOTAL = Position("total", 0)


class DecoderBuilder:
    """Generates the source of a decoder, one part of a layout after another.

    Parts of fixed size are collected as a run, which is read with one `unpack_from`.
    """

    def __init__(self, code: Source) -> None:
        self.code = code
        self.place = Position("", 0)
        self.end = TOTAL
        """Where what encloses the next part ends."""
        self.reached = {TOTAL}
        """The ends that are known to lie within the data."""
        self.fitting: dict[str, LengthCheck] = {}
        """Lengths held against what is left."""
        self.floor = Position("", 0)
        """Up to here the bytes lie before `end`, if the same variable is the base."""
        self._run: list[FixedPart | LaterStatements] = []
        self._order = ""
        self._ahead: list[Ahead] = []

    def name(self, hint: str) -> str:
        """Return a new variable name."""
        return self.code.name(hint)

    def read_fixed(self, kind: Kind, variables: tuple[str, ...], path: str) -> None:
        """Add a part of fixed size to the run of parts that are read together."""
        if self._ahead and self._ahead[0].place == self.place and self._ahead[0].kind == kind:
            self._take_ahead(self._ahead.pop(0), variables[0], path)
            return
        if kind.ordered:
            if self._order not in ("", kind.order):
                self.flush()
            self._order = kind.order
        self._run.append(FixedPart(kind, variables, path, self.place))
        self.place = self.place.behind(kind.size)

    def check(self, text: str) -> None:
        """Add a statement that uses the parts read so far, and that a later check needs."""
        self._run.append(LaterStatements(text, checks=True))

    def hold(self, test: str, error: str) -> None:
        """Add a check of the parts read so far: if `test` is true, the decoder raises `error`."""
        self.check(f"if {test}:\n    raise {error} from None")

    def later(self, text: str) -> None:
        """Add a statement that uses the parts read so far; no check depends on it."""
        self._run.append(LaterStatements(text, checks=False))

    def flush(self, followers: Sequence[Kind] = ()) -> None:
        """Write the code that reads the collected parts, because the code that follows needs them.

        `followers` are numbers that may come next. They are unpacked as well, as far as the data
        reaches, and used by the next parts of fixed size.
        """
        run, order = self._run, self._order or ">"
        self._run, self._order = [], ""
        parts = [each for each in run if isinstance(each, FixedPart)]
        if parts:
            self._ahead = self._looked_ahead(order, followers)
            self._read_run(order, run, parts, self._ahead)
        for each in run:
            if isinstance(each, LaterStatements):
                self.code.line(each.text)

    def _looked_ahead(self, order: str, followers: Sequence[Kind]) -> list[Ahead]:
        found: list[Ahead] = []
        place = self.place
        for kind in takewhile(lambda each: not each.ordered or each.order == order, followers):
            found.append(Ahead(self.name("ahead"), kind, place))
            place = place.behind(kind.size)
        return found

    def _read_run(
        self,
        order: str,
        run: list[FixedPart | LaterStatements],
        parts: list[FixedPart],
        ahead: Sequence[Ahead],
    ) -> None:
        with self.code.block("try:"):
            further = [FixedPart(each.kind, (each.variable,), "", each.place) for each in ahead]
            self.code.line(self._unpack(order, *parts, *further))
        with self.code.block("except struct_error:"):
            if ahead:
                self.code.line(f"{ahead[-1].variable} = None")
                self._read_run(order, run, parts, ahead[:-1])
            else:
                self._cut_short(order, run)
                self.code.line("raise")

    def _take_ahead(self, ahead: Ahead, variable: str, path: str) -> None:
        with self.code.block(f"if {ahead.variable} is None:"):
            size = ahead.kind.size
            self.code.line(f"raise cut({quote_path(path)}, {ahead.place}, {size}, total)")
        self.code.line(f"{variable} = {ahead.variable}")
        self.place = ahead.place.behind(ahead.kind.size)

    def _cut_short(self, order: str, run: list[FixedPart | LaterStatements]) -> None:
        parts = [each for each in run if isinstance(each, FixedPart)]
        checks = [
            each for each in run[: run.index(parts[-1])] if isinstance(each, LaterStatements)
        ]
        for each in run:
            if isinstance(each, LaterStatements):
                if each.checks:
                    self.code.line(each.text)
                continue
            path, size = quote_path(each.path), each.kind.size
            with self.code.block(f"if total < {each.after}:"):
                self.code.line(f"raise cut({path}, {each.place}, {size}, total) from None")
            if each is parts[-1]:
                return
            if any(check.checks for check in checks):
                self.code.line(self._unpack(order, each))

    def _unpack(self, order: str, *parts: FixedPart) -> str:
        layout = Struct(order + "".join(part.kind.code for part in parts))
        unpack = self.code.constant(layout.unpack_from, "unpack")
        variables = "".join(f"{name}, " for part in parts for name in part.variables)
        return f"{variables}= {unpack}(data, {parts[0].place})"

    def move(self, place: str) -> None:
        """Let the next part begin at a position given as source; call this after `flush`."""
        at = self.name("at")
        self.code.line(f"{at} = {place}")
        self.place = Position(at, 0)

    @contextmanager
    def block(self, head: str) -> Generator[None, None, None]:
        """Write an indented block below a head like `if x:`; finally read the collected parts."""
        with self.code.block(head):
            yield
            self.flush()

    @contextmanager
    def apart(self) -> Generator[None, None, None]:
        """Forget at the end of the context which ends and lengths were checked inside."""
        known = set(self.reached), dict(self.fitting), self.floor
        yield
        self.reached, self.fitting, self.floor = known

    def known_to_fit(self, length: str) -> str | None:
        """Return the variable with the end of `length` bytes from here, if it was checked."""
        asked = self.fitting[length]
        return asked.stop if asked.start == self.place and asked.end in self.reached else None


def join_path(outer: str, name: str) -> str:
    """Return the dotted path of a part inside another part."""
    dot = "." if outer and name and not name.startswith("[") else ""
    return f"{outer}{dot}{name}"


def quote_path(path: str) -> str:
    """Return a path as Python source; a variable in braces is the index of a repeated part."""
    return f"f{path!r}" if "{" in path else repr(path)


def term(place: Position) -> str:
    """Return a position as source, in parentheses where it is a sum."""
    return f"({place})" if place.base and place.more else str(place)
