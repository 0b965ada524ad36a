import pytest

from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.clauses.observations import Observations, load_observations

OF_EVERY_PROTOCOL = {
    *("*", "ok", "closed", "open", "stuck", "silence", "others-open"),
}
LITERAL = ("error:", "http:", "response:", "same:")
"""Kinds whose detail is a name or a number of the wire."""


def test_a_sentence_is_that_of_the_narrowest_prefix() -> None:
    observations = Observations(
        words={"all": "everything", "count:*": "{} of them"}, within={"nsq/x": {"all": "it"}}
    )

    assert observations.sentence("all", "nsq/x/y") == "it"
    assert observations.sentence("all", "nsq/y") == "everything"
    assert observations.sentence("count:1-2") == "1 2 of them"
    assert observations.sentence("count:*") is None
    assert observations.sentence("other") is None


def test_a_protocol_without_a_file_has_no_sentences() -> None:
    assert load_observations("smtp").words == {}


@pytest.mark.parametrize("protocol", ["nsq", "iggy", "oms"])
def test_every_word_of_an_accept_set_has_its_sentence(protocol: str) -> None:
    sentences = load_observations(protocol)
    missing = {
        (word, law.id)
        for clause in load_catalogue(protocol).clauses()
        for law in clause.case
        for pattern in (*law.accept, *law.undecided, *_of_readings(law.reading))
        for word in _words(pattern)
        if word not in OF_EVERY_PROTOCOL and not word.startswith(LITERAL)
        if not word.endswith(":*") and sentences.sentence(word, law.id) is None
    }
    assert missing == set()


def _of_readings(readings: dict[str, dict[str, tuple[str, ...]]]) -> list[str]:
    return [
        pattern
        for options in readings.values()
        for patterns in options.values()
        for pattern in patterns
    ]


def _words(pattern: str) -> list[str]:
    """Return the words of a pattern but a server's own name for an HTTP error."""
    first, *after = pattern.split(",")
    named = after[1:] if first.startswith("http:") and "-" not in "".join(after[:1]) else after
    return [first, *named]
