"""Which error codes are accepted for which refused input, as the page docs/error-codes.md.

    .venv/bin/python tools/levels/error_codes.py > docs/error-codes.md

The rows are the cases for NSQ brokers whose accept sets name a code. A test compares the page with
what this prints.
"""

import re
import sys
from collections.abc import Iterable, Iterator

from wireproof.view.output import write_lines
from wireproof_spec.clauses.catalogue import CLIENT, Clause, Law
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.nsq import error_codes

CODES = frozenset(name for name, value in vars(error_codes).items() if name == value)
WORD = re.compile(r"[A-Z_]{3,}")
INSTEAD = {
    "ok": "accepted",
    "trace": "accepted",
    "as-without": "accepted",
    "closed": "closed",
    "silence": "awaited",
}

HEAD = """\
# Which error code for which mistake

Made by `tools/levels/error_codes.py` from the catalogue; not edited by hand.

These cases ask an NSQ broker for certain error codes. Where the column *code* has several, several
mistakes are in the input, or the text does not say which code it means; each of them is accepted.
*Accepted*, *closed* and *awaited* say what a broker may do instead: take the input, close the
connection without an error, or wait for more bytes. The column *deployed* has what real brokers
answer, and the reading of an ambiguous sentence under which that is accepted, too: a broker must
follow one reading throughout (`wireproof probe URL` shows which).

PUB's list, from which all codes are accepted where it stands, is the one of document 004:
{pub}.

All other cases with a refused input accept every error code. Those of Iggy do so, too, but for a
few numbers seen on real servers, which are `observed`. Levels and origins are explained in
[verdicts.md](verdicts.md).

| input | code | deployed | level | origin | case |
| --- | --- | --- | --- | --- | --- |"""


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    codes = [f"`{code}`" for code in sorted(error_codes.PUB_PUBLISHED)]
    yield HEAD.format(pub=",\n".join((", ".join(codes[:4]), ", ".join(codes[4:]))))
    for clause in load_catalogue("nsq").clauses():
        if clause.role != CLIENT:
            yield from (_row(clause, law) for law in clause.case if _names_a_code(law))


def _names_a_code(law: Law) -> bool:
    readings = (patterns for options in law.reading.values() for patterns in options.values())
    return any(_codes(patterns) for patterns in (law.accept, *readings))


def _row(clause: Clause, law: Law) -> str:
    accepted, deployed = list(law.accept), ""
    for decision, options in law.reading.items():
        for name, patterns in options.items():
            if name == "deployed" and len(options) > 1:
                deployed = f"{_in_words(patterns)} (`{decision}`)"
            else:
                accepted += patterns
    sent = law.sends or clause.law
    cells = (sent, _in_words(accepted), deployed, clause.level, clause.origin, f"`{law.id}`")
    return "| " + " | ".join(cells) + " |"


def _codes(patterns: Iterable[str]) -> set[str]:
    return CODES.intersection(word for pattern in patterns for word in WORD.findall(pattern))


def _in_words(patterns: Iterable[str]) -> str:
    codes = _codes(patterns)
    named = [f"`{code}`" for code in sorted(codes)]
    if codes == error_codes.PUB_PUBLISHED:
        named = ["PUB's list"]
    without = [pattern for pattern in patterns if not _codes([pattern])]
    if any("E_*" in each for each in without):
        named = ["any code"]
    words = (word for each in without for word in re.split("[,:]", each))
    return ", ".join(named + list(dict.fromkeys(INSTEAD[w] for w in words if w in INSTEAD)))


if __name__ == "__main__":
    write_lines(sys.stdout, "\n".join(page()).split("\n"))
