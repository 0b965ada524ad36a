from pathlib import Path

from bundle_fixture import header, write_bundle

from wireproof_reports.bundle_file import read_bundle
from wireproof_reports.render.page import read_page, run_command


def test_coverage_counts_every_clause_once(tmp_path: Path) -> None:
    page = read_page(write_bundle(tmp_path / "b.jsonl"))

    covered = [clause.id for item in page.coverage for clause in item.clauses]
    assert sorted(covered) == sorted(c.id for group in page.groups for c in group.clauses)


def test_the_command_of_the_run_is_given_as_it_was(tmp_path: Path) -> None:
    path = write_bundle(tmp_path / "b.jsonl", [], first=header(command="wireproof run X --seed 1"))

    assert run_command(read_bundle(path)) == "wireproof run X --seed 1"


def test_a_run_without_a_command_is_told_in_full(tmp_path: Path) -> None:
    path = write_bundle(tmp_path / "b.jsonl", [], first=header(command=""))

    assert run_command(read_bundle(path)) == (
        "wireproof run nsq://127.0.0.1:4150 ext --profile should --reading any --seed 7319"
    )


def test_the_product_is_named_as_the_target_does(tmp_path: Path) -> None:
    named = read_page(write_bundle(tmp_path / "a.jsonl", []))
    assert (named.product, named.version) == ("harbor-mq", "4.2.0-rc1")
    target = {"url": "nsq://h:1", "protocol": "nsq"}
    plain = read_page(write_bundle(tmp_path / "b.jsonl", [], first=header(target=target)))
    assert plain.product == "nsq://h:1"
    embedded = {"url": "reference", "protocol": "nsq"}
    own = read_page(write_bundle(tmp_path / "c.jsonl", [], first=header(target=embedded)))
    assert own.product == "The embedded reference"
