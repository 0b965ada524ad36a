import re
from pathlib import Path

import msgspec
import pytest
from bundle_fixture import case, failed, failures, header, write_bundle

from wireproof_reports.render.junit import render as render_junit
from wireproof_reports.render.markdown import render, write
from wireproof_spec.record import TargetRecord


@pytest.fixture(scope="module")
def statement(tmp_path_factory: pytest.TempPathFactory) -> str:
    return render(write_bundle(tmp_path_factory.mktemp("bundle") / "run.jsonl"))


def test_levels_reached_by_group(statement: str) -> None:
    row = next(line for line in statement.splitlines() if "`ext.subscribe`" in line)
    assert re.fullmatch(
        r"\| Who may subscribe `ext.subscribe` \| (\d+)/\1 \(\1 text\) \|  \|  \|.* \|  \|", row
    )
    assert "not judged: core clauses not asserted: ext.upgrade.accept" in statement
    assert "not selected: give --data to judge it" in statement


def test_deviations_have_reason_and_date(statement: str) -> None:
    assert "known until 2027-03-31: the header reader is replaced in 4.3" in statement


def test_command_to_repeat(statement: str) -> None:
    assert statement.endswith("--profile should --seed 7319 --bundle run-0142.jsonl\n")


def test_never_a_bare_word_of_praise(tmp_path: Path) -> None:
    cases = [case("publish/accept", "ext.publish.accept", "A right frame", "ok,open")]
    text = render(write_bundle(tmp_path / "good.jsonl", cases, exit=0))

    assert "No failure up to level should" in text
    assert "onformant" not in text


def test_text_of_a_bundle_is_no_markup(tmp_path: Path) -> None:
    hostile = "</td><script>x</script> | [a](javascript:x) `\n# head"
    strange = msgspec.structs.replace(next(failures()), case=hostile, observation=hostile)
    first = header(
        target={"url": "nsq://h:1", "protocol": "nsq", "fingerprint": {"name": hostile}}
    )
    text = render(write_bundle(tmp_path / "run.jsonl", [strange], first=first))

    without_code = re.sub(r"(`+) ?.*? ?\1|<code>[^<]*</code>", "", text)
    assert not re.search(r"(?<!\\)<", without_code)
    assert not re.search(r"(?<!\\)\[", without_code)
    assert "\n# " not in text
    assert text.startswith("# Compatibility statement: \\</td\\>\\<script\\>")


def test_a_death_says_that_the_case_need_not_be_the_culprit(tmp_path: Path) -> None:
    note = "the case need not be the culprit: open then were others"
    died = msgspec.structs.replace(next(failures()), observation="died", note=note)
    path = write_bundle(tmp_path / "run.jsonl", [died])

    assert f"   - {note}" in render(path)
    assert f"note      {note}" in render_junit(path).decode()


def test_of_traffic_each_failure_names_its_side(tmp_path: Path) -> None:
    ready = "smart.client.ready"
    cases = [*failures(), failed(f"nsq/passing/{ready}", ready, "t", "deviates", ["conforms"])]
    proxied = header(target=TargetRecord("nsq://h:1", "nsq", role="proxy"))
    text = render(write_bundle(tmp_path / "run.jsonl", cases, first=proxied))

    assert "# Compatibility statement: traffic between clients and nsq://h:1\n" in text
    assert "Causes by side: client 1, broker 4." in text
    assert re.search(r"\(client must .*`smart.client.ready`, 1 case", text)
    assert re.search(r"\(broker must .*`ext.publish.trace-response`, 3 cases", text)


def test_write(tmp_path: Path) -> None:
    path = write_bundle(tmp_path / "run.jsonl")
    write(path, tmp_path / "statement.md")

    assert (tmp_path / "statement.md").read_text("utf-8") == render(path)
