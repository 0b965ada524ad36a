"""The words of each clause stand literally in the section of the document that it names."""

import pytest
from published_texts import published

from wireproof_spec.clauses.accounting import load_accounts
from wireproof_spec.clauses.catalogue import Clause
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.clauses.quotes import normal_form, sections, stands

PROTOCOLS = ("nsq", "oms", "iggy")
HEADINGS = {a.document: a.headings for name in PROTOCOLS for a in load_accounts(name)}
QUOTED: dict[str, list[Clause]] = {}
for name in PROTOCOLS:
    for each in load_catalogue(name).clauses():
        if each.words:
            QUOTED.setdefault(each.document, []).append(each)


@pytest.mark.parametrize("document", QUOTED)
def test_quoted_words_stand_literally_in_their_section(document: str) -> None:
    found = sections(published(document), headings=HEADINGS.get(document, ()))
    wrong = [
        f"{clause.id}: {words!r} does not stand in section {clause.section!r}"
        for clause in QUOTED[document]
        for words in clause.words
        if not stands(words, found.get(clause.section, ""))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a\n  b", "a b"),
        ("&lt;topic&gt; &amp;", "<topic> &"),
        (r"E\_BAD\_TOPIC", "E_BAD_TOPIC"),
        (r"PUB <topic>\n", r"PUB <topic>\n"),
        ("**all** `sizes` *once*", "all sizes once"),
    ],
)
def test_the_normal_form_leaves_out_marks_and_line_breaks(written: str, read: str) -> None:
    assert normal_form(written) == read


@pytest.mark.parametrize(
    ("words", "is_literal"),
    [
        ("length of extend", True),
        ("the *length* of\nextend", True),
        ("length of ext", False),
        ("ength of extend", False),
        ("Length of extend", False),
        ("the … extend", False),
        ("", False),
        ("(16 bits)", True),
    ],
)
def test_words_are_literal_or_not(words: str, is_literal: bool) -> None:
    assert stands(words, "say the `length` of\nextend (16 bits).") is is_literal


def test_a_section_ends_at_the_next_heading_and_code_has_none() -> None:
    text = "a\n# One\nb\n```\n# c\n```\n  * #### *Two* <a name='x'>x</a>\nd\n# One\ne\nf\n"
    assert sections(text) == {"": "a", "One": "\nb\n```\n# c\n```\n\ne\nf", "Two x": "\nd"}


def test_a_text_without_marks_has_the_headings_that_are_named() -> None:
    assert sections("One\na\n", headings=("One",)) == {"": "", "One": "\na"}
