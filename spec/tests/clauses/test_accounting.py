"""Every sentence of a published text is carried by a clause or set aside with a reason."""

import pytest
from published_texts import published

from wireproof_spec.clauses.accounting import Account, load_accounts, sentences
from wireproof_spec.clauses.catalogue import Catalogue
from wireproof_spec.clauses.loading import load_catalogue

ACCOUNTS = {
    account.document: (load_catalogue(protocol), account)
    for protocol in ("nsq", "oms", "iggy")
    for account in load_accounts(protocol)
}
each_account = pytest.mark.parametrize(("catalogue", "account"), ACCOUNTS.values(), ids=ACCOUNTS)


@each_account
def test_each_entry_names_known_clauses_or_a_reason(
    catalogue: Catalogue, account: Account
) -> None:
    known = {clause.id for clause in catalogue.clauses()}
    for entry in account.entry:
        assert bool(entry.clauses) != bool(entry.why), entry
        assert set(entry.clauses) <= known, entry


@each_account
def test_each_clause_of_a_document_is_led_to_by_a_sentence(
    catalogue: Catalogue, account: Account
) -> None:
    carried = {name for entry in account.entry for name in entry.clauses}
    own = [c for c in catalogue.clauses() if c.document == account.document]
    assert {c.id for c in own if c.origin == "text"} - carried == set()


@each_account
def test_no_sentence_carries_a_clause_of_which_the_text_says_nothing(
    catalogue: Catalogue, account: Account
) -> None:
    carried = {name for entry in account.entry for name in entry.clauses}
    deployed = {c.id for c in catalogue.clauses() if c.origin == "deployed"}
    assert carried & deployed == set()


@pytest.mark.parametrize("account", [account for _, account in ACCOUNTS.values()], ids=ACCOUNTS)
def test_the_account_is_that_of_the_published_text(account: Account) -> None:
    text = published(account.document)
    due = [(s.section, s.position, s.hash) for s in account.sentences(text)]
    assert [(e.section, e.position, e.hash) for e in account.entry] == due


def test_prose_is_split_at_sentences_bullets_and_code_by_line() -> None:
    text = "# One\nA a. B\nb (e.g. c).\n\n- d. E\n```\nf\n\ng\n```\n## Two\nH?\n"
    assert [(s.section, s.position, s.text) for s in sentences(text)] == [
        ("One", 1, "A a."),
        ("One", 2, "B b (e.g. c)."),
        ("One", 3, "d. E"),
        ("One", 4, "f"),
        ("One", 5, "g"),
        ("Two", 1, "H?"),
    ]


def test_a_sentence_hash_does_not_see_how_lines_are_broken() -> None:
    (one,) = sentences("a  b\nc")
    (other,) = sentences("a b c")
    (changed,) = sentences("a b d")
    assert one.hash == other.hash != changed.hash


def test_a_text_without_marks_is_given_them_by_its_headings_and_braces() -> None:
    text = "One\nA\nb\nc. D:\nx (1) + y\nE\npub {\nf: {\ng\n}\n}\nTwo\n{\nh\n},\nI\n"
    account = Account("0", (), headings=("One", "Two"), alone=("x (1) +",))

    assert [(s.section, s.position, s.text) for s in account.sentences(text)] == [
        ("One", 1, "A b c."),
        ("One", 2, "D:"),
        ("One", 3, "x (1) + y"),
        ("One", 4, "E"),
        ("One", 5, "pub {"),
        ("One", 6, "f: {"),
        ("One", 7, "g"),
        ("One", 8, "}"),
        ("One", 9, "}"),
        ("Two", 1, "{"),
        ("Two", 2, "h"),
        ("Two", 3, "},"),
        ("Two", 4, "I"),
    ]


def test_a_text_with_marks_is_split_as_it_is() -> None:
    text = "# One\nA {\nb. C\n"

    assert list(Account("0", ()).sentences(text)) == list(sentences(text))
