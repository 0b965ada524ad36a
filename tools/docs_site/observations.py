"""Pages of the words of observations: what each token means, for each protocol."""

from collections.abc import Iterator, Mapping
from itertools import chain

from page import Page, code, page, table, words

from wireproof_kit.protocols import known_protocols
from wireproof_spec.clauses.catalogue import Catalogue, Law
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.clauses.observations import ENDINGS, SHARED_WORDS, load_observations
from wireproof_spec.clauses.spoken import spoken

FOLDER = "reference/observations"
HEAD = ("token", "means")


def pages() -> Iterator[Page]:
    """Yield the page of the shared words, and a page for each protocol."""
    lines = [
        "# Words of observations",
        "",
        "A case returns an observation: a token, and others after commas. Bundles and accept sets "
        "hold tokens; reports show the sentences. In an accept set, `*` stands for any text "
        "without a comma. The words of one protocol are on its page: "
        + ", ".join(f"[{name}]({name}.md)" for name in known_protocols())
        + ".",
        "",
        "## Words of every protocol",
        *_table(SHARED_WORDS),
        "## What follows an answer",
        *_table(ENDINGS),
    ]
    yield page(f"{FOLDER}/index.md", lines)
    for protocol in known_protocols():
        yield page(f"{FOLDER}/{protocol}.md", _protocol(load_catalogue(protocol)))


def _protocol(catalogue: Catalogue) -> Iterator[str]:
    observations = load_observations(catalogue.protocol)
    yield f"# Words of observations of {catalogue.protocol}"
    yield ""
    yield "The [words of every protocol](index.md) apply as well. A sentence with … holds what "
    yield "follows the colon of the token."
    yield ""
    yield "## Words of all cases"
    yield from _table(observations.words)
    for prefix, table_ in observations.within.items():
        yield f"## Words of {code(prefix)}"
        yield ""
        yield f"In cases whose ids begin with {code(prefix)} these words mean something else."
        yield from _table(table_)
    named = {word: spoken(word, catalogue.protocol) for word in _accepted(catalogue)}
    yield "## Tokens of accept sets that are names of the wire"
    yield ""
    yield "These tokens have no sentence: they repeat an error code, a status or a value."
    yield from _table(
        {word: text for word, text in named.items() if word not in observations.words}
    )


def _accepted(catalogue: Catalogue) -> list[str]:
    """Return every token of the accept sets that no sentence explains."""
    known = {*SHARED_WORDS, *ENDINGS}
    observations = load_observations(catalogue.protocol)
    found = {
        (token, law.id)
        for clause in catalogue.clauses()
        for law in clause.case
        for pattern in _patterns(law)
        for token in pattern.split(",")
    }
    bare = {token for token, case in found if observations.sentence(token, case) is None}
    return sorted(bare - known)


def _patterns(law: Law) -> Iterator[str]:
    yield from (*law.accept, *law.undecided)
    for readings in law.reading.values():
        yield from chain.from_iterable(readings.values())


def _table(sentences: Mapping[str, str]) -> Iterator[str]:
    rows = [(code(word), words(text.replace("{}", "…"))) for word, text in sentences.items()]
    yield from table(HEAD, sorted(rows))
