"""The page on OpenMessaging lists every rule with its clause, level and how it is judged."""

from pathlib import Path

from wireproof_spec.clauses.loading import load_catalogue

PAGE = Path(__file__).parents[3] / "docs" / "openmessaging.md"


JUDGED_BY = {"document": "documents", "server": "an adapter", "client": "nothing"}


def test_the_page_lists_every_clause_under_its_numbers() -> None:
    _, _, table = PAGE.read_text("utf-8").partition("| rule | clause | level |")
    rows = [
        tuple(cell.strip(" `") for cell in line.strip("|").split("|"))
        for line in table.splitlines()[2:]
    ]
    due = [
        (
            ", ".join(clause.rules) or "none",
            clause.id,
            clause.level,
            clause.origin,
            JUDGED_BY[clause.role],
        )
        for clause in load_catalogue("oms").clauses()
    ]
    assert rows == sorted(due)


def test_no_rule_is_without_a_clause() -> None:
    told = {rule for clause in load_catalogue("oms").clauses() for rule in clause.rules}
    runs = [(1, 16), (20, 24), (30, 35), (40, 45), (50, 53), (60, 64), (70, 73), (80, 80)]
    due = {
        number
        for first, last in [*runs, (100, 105), (110, 115)]
        for number in range(first, last + 1)
    }
    assert {int(each.removeprefix("OM-")) for each in told} == due
