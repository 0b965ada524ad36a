"""An exchange as plain text: each step with its bytes, their names, and what differs."""

from collections.abc import Iterator, Sequence

from wireproof_reports.exchange.annotation import Line
from wireproof_reports.exchange.evidence import Exchange, StepView
from wireproof_reports.wording import count_noun, readable

ROW = 16
LEFT_OUT = "…"


def as_text(exchange: Exchange) -> str:
    """Return the annotated hex dump of an exchange as text; every line is printable."""
    rows = [row for step in exchange.head for row in _step(step)]
    if exchange.omitted:
        rows.append(f"{LEFT_OUT} {count_noun(exchange.omitted, 'step')} left out")
    rows += [row for step in exchange.tail for row in _step(step)]
    if exchange.behind:
        rows.append(f"{LEFT_OUT} {count_noun(exchange.behind, 'later step')} left out")
    return "\n".join(rows) + "\n" if rows else ""


def make_heading(step: StepView) -> str:
    """Return the heading of a step in a dump: what was done, number of bytes, and note."""
    size = f", {count_noun(step.size, 'byte')}" if step.size else ""
    note = f": {_printable(step.note)}" if step.note else ""
    judged = "  <-- what was judged" if step.failing else ""
    return f"{step.title}{size}{note}{judged}"


def _step(step: StepView) -> Iterator[str]:
    yield f"{step.time:>9}  {make_heading(step)}"
    yield from (f"    {row}" for row in step.text.splitlines())
    for line in step.lines:
        yield from _line(line)


def _line(line: Line) -> Iterator[str]:
    pairs = line.head.split()
    tail = line.tail.split()
    yield _row(line.offset, pairs[:ROW], _name(line))
    yield from _more(line.offset, pairs, begin=ROW)
    if line.omitted:
        yield f"    {LEFT_OUT} {count_noun(line.omitted, 'byte')} left out"
        yield _row(line.offset + line.length - len(tail), tail, "")


def _more(offset: int, pairs: Sequence[str], *, begin: int) -> Iterator[str]:
    for start in range(begin, len(pairs), ROW):
        yield _row(offset + start, pairs[start : start + ROW], "")


def _row(offset: int, pairs: Sequence[str], name: str) -> str:
    return f"    {offset:04x}  {' '.join(pairs):<{3 * ROW}}{name}".rstrip()


def _name(line: Line) -> str:
    value = f" = {line.value}" if line.value else ""
    wrong = "  <-- made wrong on purpose" if line.wrong else ""
    differs = f"  <-- differs: {line.differs}" if line.differs else ""
    return f"{_printable(line.label)}{value}{wrong}{_printable(differs)}"


def _printable(text: str) -> str:
    return readable(text.encode("latin-1", "replace")) if not text.isprintable() else text
