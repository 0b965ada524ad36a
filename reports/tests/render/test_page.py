from pathlib import Path
from xml.etree import ElementTree as etree

import pytest
from bundle_fixture import crash, header, write_bundle

from wireproof_reports.bundle_file import read_bundle
from wireproof_reports.render import html, junit, markdown
from wireproof_reports.render.page import Fact, read_page, run_command
from wireproof_spec.record import ClaimRecord, HeaderRecord


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
    documents = {"url": "oms+file:out/", "protocol": "oms"}
    read = read_page(write_bundle(tmp_path / "d.jsonl", [], first=header(target=documents)))
    assert read.product == "oms+file:out/"


def client(**fingerprint: str) -> HeaderRecord:
    """The first line of a run that judged a client, which consumes and does not publish."""
    target = {"url": "nsq+client:./run a:b", "protocol": "nsq", "role": "client"}
    claims = {
        "client-producer": ClaimRecord("absent", "silent"),
        "client-consumer": ClaimRecord("shown", "ok"),
    }
    return header(target=target | {"fingerprint": fingerprint}, claims=claims)


def test_the_page_of_a_client_says_its_role_its_driver_and_its_command(tmp_path: Path) -> None:
    driven = client(name="harbor", version="2", driver="yes")
    path = write_bundle(tmp_path / "b.jsonl", [], first=driven)
    said = {fact.name: fact.value for fact in read_page(path).facts}

    assert said["Client's role"] == "consumer"
    assert said["Client's driver"] == "harbor 2"
    assert said["Client's command"] == "./run a:b"
    assert "Target" not in said
    for text in (html.render(path), html.page_from("statement.html.jinja", path)):
        assert "<dt>Client&#39;s command</dt><dd>./run a:b</dd>" in text
    assert "- Client's role: consumer\n" in markdown.render(path)
    told = {each.get("name"): each.get("value") for each in properties(junit.render(path))}
    assert told["target.role"] == "consumer"
    assert told["target.driver"] == "harbor 2"
    assert told["target.command"] == "./run a:b"


def test_a_client_without_a_driver_is_said_to_have_none(tmp_path: Path) -> None:
    page = read_page(write_bundle(tmp_path / "b.jsonl", [], first=client()))

    assert Fact("Client's driver", "none: judged by its connections alone") in page.facts
    assert page.product == "./run a:b"


@pytest.mark.parametrize(("revision", "is_withdrawn"), [(1, True), (2, False)])
def test_a_bundle_of_a_withdrawn_revision_is_said_to_be_one(
    tmp_path: Path, *, revision: int, is_withdrawn: bool
) -> None:
    path = write_bundle(tmp_path / "b.jsonl", [crash(7)], first=header(spec={"ext": revision}))

    (law,) = [fact.value for fact in read_page(path).facts if fact.name == "Law"]

    assert law.startswith(f"ext revision {revision}")
    assert ("wireproof judge judges the bundle by revision 3" in law) is is_withdrawn


def properties(text: str | bytes) -> list[etree.Element]:
    """Return the properties of the first suite of a JUnit file."""
    return list(etree.fromstring(text).iter("property"))
