import re
from itertools import chain

import pytest

from wireproof_spec.clauses.catalogue import Group
from wireproof_spec.clauses.loading import CatalogueFault, load_catalogue, read_toml
from wireproof_spec.clauses.observations import Observations, load_observations
from wireproof_spec.clauses.spoken import spoken
from wireproof_spec.clauses.unlisted import list_unlisted


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
    assert list(list_unlisted(protocol)) == []


def test_a_misspelled_key_of_a_table_is_told_with_the_nearest() -> None:
    text = "[[clause]]\nid = 'a.b.c'\ncor = true\n"

    with pytest.raises(CatalogueFault) as caught:
        read_toml(text, "law.toml", Group)

    told = "law.toml, line 3: Object contains unknown field `cor` - at `$.clause[0]`"
    assert str(caught.value) == f"{told}; expected core"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[words]\na = 'b'\nc = 1\n", "words.toml, line 3: Expected `str`, got `int`"),
        ("[in.'x/']\na = 'b'\n'c-d' = []\n", "words.toml, line 3: Expected `str`, got `array`"),
        (
            "[word]\na = 'b'\n",
            "line 1: Object contains unknown field `word`; expected words or in",
        ),
        (
            "[in.'x/']\na = 'b'\n[words]\n[within]\n",
            "line 4: Object contains unknown field `within`; expected words or in",
        ),
        ("\nword = 1\n", "line 2: Object contains unknown field `word`; expected words or in"),
        ("[words", "words.toml: Expected ']' at the end of a table declaration"),
    ],
)
def test_a_wrong_list_of_words_is_refused_with_its_line(text: str, told: str) -> None:
    with pytest.raises(CatalogueFault, match=re.escape(told)):
        read_toml(text, "words.toml", Observations)


@pytest.mark.parametrize("protocol", ["nsq", "iggy"])
def test_no_pattern_is_read_as_a_sentence_without_an_end(protocol: str) -> None:
    """``trace:*`` was "a trace response, but any"."""
    laws = [law for clause in load_catalogue(protocol).clauses() for law in clause.case]
    said: set[str] = set()
    for law in laws:
        read = chain(*(each.values() for each in law.reading.values()))
        patterns = chain(law.accept, law.undecided, *read)
        said |= {spoken(pattern, law.id) for pattern in patterns}

    unfinished = re.compile(r"(?::|, but|reason|status|code|another) any($|,| than| when)")
    assert not [words for words in said if unfinished.search(words)]


@pytest.mark.parametrize(
    ("word", "words"),
    [
        (
            "delivered:layout-plain-ext",
            "delivered in another layout: the body stands where the layout plain ext has it",
        ),
        ("delivered:body-changed", "delivered with a changed body"),
        ("to:matching+other", "delivered to the clients: matching and other"),
        ("trace:*", "any trace response"),
    ],
)
def test_a_word_is_filled_into_the_sentence_of_its_kind(word: str, words: str) -> None:
    assert spoken(word, "nsq/consume/x") == words
