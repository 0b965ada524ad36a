"""Judging a bundle again: other options, another verdict; the same options, the same."""

import json
import re
from dataclasses import replace
from pathlib import Path

import cli_bundle as made
import msgspec
import pytest
from cli_process import wireproof

from wireproof.commands.bundles.judge import Terms, changes, judge_again
from wireproof.main import main
from wireproof_kit.errors import UsageFault
from wireproof_spec.fuzz_record import CampaignRecord
from wireproof_spec.record import BindingRecord, ClaimRecord


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_conforming_run_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    made.write(Path("b.jsonl"), list(made.conforming()))

    assert main(["judge", "b.jsonl"]) == 0

    out = capsys.readouterr().out
    assert "0 verdicts changed against the run" in out
    assert out.splitlines()[-1].startswith("NO FAILURE up to level must")
    assert out.splitlines()[-1].endswith("exit 0")
    assert "seed 7" in out.splitlines()[-1]


def test_a_failure_ends_with_1_and_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    records = made.failing()
    made.write(Path("b.jsonl"), records)
    failed = next(record for record in records if record.observation == made.ODD)

    assert main(["judge", "b.jsonl"]) == 1

    out = capsys.readouterr().out
    assert f"FAIL     {failed.case}" in out
    assert f"explain   wireproof explain {failed.clause}" in out
    assert "NOT CONFORMANT   1 new cause (1 case)" in out


def test_failures_alone_may_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    records = made.failing()
    made.write(Path("b.jsonl"), records)
    failed = next(record for record in records if record.observation == made.ODD)

    assert main(["judge", "b.jsonl"]) == 1
    whole = capsys.readouterr().out
    assert main(["judge", "b.jsonl", "--failures-only"]) == 1
    short = capsys.readouterr().out

    assert re.search(r"^nsq/publish +\d+ pass", whole, re.MULTILINE)
    assert not re.search(r"^nsq/publish +\d+ pass", short, re.MULTILINE)
    assert f"FAIL {failed.case} " in short
    assert f"FAIL {failed.case} " not in whole


def test_the_time_of_a_run_stays_when_it_is_judged_again() -> None:
    path = made.write(Path("b.jsonl"), list(made.conforming()))
    bundle = made.read(path)
    assert bundle.footer is not None
    ran = replace(bundle, footer=msgspec.structs.replace(bundle.footer, duration_us=7))

    assert judge_again(ran, Terms()).footer.duration_us == 7


def test_the_profile_decides_what_counts(capsys: pytest.CaptureFixture[str]) -> None:
    made.write(Path("b.jsonl"), made.failing(level="should"))

    assert main(["judge", "b.jsonl"]) == 0
    assert "(this run counts up to level must)" in capsys.readouterr().out
    assert main(["judge", "b.jsonl", "--profile", "should"]) == 1


def test_the_origin_decides_whose_musts_count(capsys: pytest.CaptureFixture[str]) -> None:
    made.write(Path("b.jsonl"), made.failing())

    assert main(["judge", "b.jsonl", "--origin", "text"]) == 1
    assert main(["judge", "b.jsonl", "--origin", "premise", "--bundle", "new.jsonl"]) == 2
    out = " ".join(capsys.readouterr().out.split())
    assert "(this run counts up to level must (origin premise))" in out
    assert made.read(Path("new.jsonl")).header.origins == ("premise",)
    assert main(["judge", "new.jsonl", "--origin", "text,base,premise"]) == 1


def test_a_bundle_of_an_older_law_is_judged_by_this_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The level was another, the origin untold, and one case is no longer there."""
    first, *others = made.conforming()
    old = msgspec.structs.replace(first, level="may", origin="", verdict="pass")
    gone = msgspec.structs.replace(first, case="nsq/gone/case", clause="ext.gone.clause")
    made.seal(Path("b.jsonl"), made.header(spec={"ext": 1, "smart": 1}), [old, gone, *others])

    result = judge_again(made.read(Path("b.jsonl")), Terms())
    assert main(["judge", "b.jsonl"]) == 0

    assert result.records[0] == msgspec.structs.replace(
        result.records[0], level=first.level, origin="text", verdict="pass"
    )
    assert len(result.records) == 1 + len(others)
    out = " ".join(capsys.readouterr().out.split())
    assert "law recorded under ext r1, smart r1; judged by ext r3, smart r3" in out
    assert "left out nsq/gone/case: taken away (the law is ext r3, smart r3)" in out
    assert "1 case left out" in out


def other_reading() -> tuple[Path, str]:
    """A run in which one case conforms under the deployed reading of its decision."""
    for clause in made.catalogue().clauses():
        for law in clause.case if clause.group == made.GROUP else ():
            for decision_id, readings in law.reading.items():
                decision = made.catalogue().decision(decision_id)
                if decision and "deployed" in readings and decision.published == "published":
                    bound = {
                        **made.header().readings,
                        decision_id: BindingRecord(
                            "deployed", made.shows(decision_id, "deployed")
                        ),
                    }
                    records = [
                        record
                        for record in made.conforming()
                        if decision_id not in made.law(record).reading
                    ]
                    value = made.fitting(readings["deployed"])
                    records.append(made.case(law, clause.id, value))
                    first = made.header(readings=bound)
                    return made.write(Path("b.jsonl"), records, first), law.id
    raise AssertionError("no law has a deployed reading")


def test_the_reading_decides_what_counts(capsys: pytest.CaptureFixture[str]) -> None:
    path, case_id = other_reading()
    before = {record.case: record.verdict for record in made.read(path).cases}

    code = main(["judge", "b.jsonl", "--reading", "published", "--profile", "observed"])

    out = capsys.readouterr().out
    assert before[case_id] == "reading"
    assert code == 1
    assert f"{case_id} reading -> fail" in " ".join(out.split())


@pytest.mark.process
def test_the_baseline_turns_failures_into_known() -> None:
    records = made.failing()
    bundle = made.read(made.write(Path("b.jsonl"), records))
    failed = next(record for record in bundle.cases if record.verdict == "fail")
    Path("known.toml").write_text(
        f'[[deviation]]\nid = "{failed.case}"\nclause = "{failed.clause}"\n'
        f'signature = "{failed.signature}"\nreason = "mended in 4.3"\n'
        f"expires = {made.TOMORROW.isoformat()}\n"
    )

    done = wireproof("judge", "b.jsonl", "--baseline", "known.toml")

    assert done.code == 0, done.err
    assert "fail -> known" in done.out
    assert "1 known" in done.out.splitlines()[-1]


def test_what_was_denied_stays_denied_and_what_was_shown_is_read_again() -> None:
    claims = {
        **made.header().claims,
        "http": ClaimRecord("absent", "ok"),
        "trace": ClaimRecord("unknown", made.header().claims["trace"].observation),
    }
    bundle = made.read(
        made.write(Path("b.jsonl"), list(made.conforming()), made.header(claims=claims))
    )

    result = judge_again(bundle, Terms())

    assert result.header.claims["http"].state == "absent"
    assert result.header.claims["trace"].state == "shown"
    assert {
        r.verdict for r in result.records if "http" in r.needs or r.case.startswith("nsq/http")
    }


def test_nothing_changes_when_nothing_is_changed() -> None:
    bundle = made.read(made.write(Path("b.jsonl"), made.failing(3)))

    result = judge_again(bundle, Terms())

    assert result.records == bundle.cases
    assert list(changes(bundle, result)) == ["0 verdicts changed against the run"]


def test_a_withdrawn_revision_is_refused() -> None:
    bundle = made.read(made.write(Path("b.jsonl"), made.failing()))

    with pytest.raises(UsageFault, match="revision 1 of the law of nsq was withdrawn"):
        judge_again(bundle, Terms(spec_revision=1))


def test_a_new_bundle_holds_the_new_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    made.write(Path("b.jsonl"), made.failing(level="should"))

    assert main(["judge", "b.jsonl", "--profile", "should", "--bundle", "new.jsonl"]) == 1

    capsys.readouterr()
    new = made.read(Path("new.jsonl"))
    assert new.header.profile == "should"
    assert new.footer is not None
    assert new.footer.exit == 1


def test_json_ends_with_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    made.write(Path("b.jsonl"), made.failing())

    assert main(["judge", "b.jsonl", "--json"]) == 1

    told = capsys.readouterr()
    events = [json.loads(line) for line in told.out.splitlines()]
    assert [events[0]["event"], events[1]["event"], events[-1]["event"]] == [
        "header",
        "case",
        "verdict",
    ]
    assert events[-1]["exit"] == 1
    assert len(events[-1]["causes"]) == 1
    assert "NOT CONFORMANT" in told.err


def test_quiet_tells_the_verdict_alone(capsys: pytest.CaptureFixture[str]) -> None:
    made.write(Path("b.jsonl"), made.failing())

    assert main(["judge", "b.jsonl", "-q"]) == 1

    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("NOT CONFORMANT")


def test_a_run_that_was_cut_off_stays_cut_off() -> None:
    path = made.write(Path("b.jsonl"), list(made.conforming()))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))

    assert judge_again(made.read(path), Terms()).footer.exit == 130


def damaged(kind: str) -> Path:
    path = made.write(Path("b.jsonl"), made.failing())
    lines = path.read_bytes().splitlines(keepends=True)
    texts = {
        "empty": b"",
        "no-bundle": b"hello\n",
        "binary": bytes(range(256)),
        "no-header": b"".join(lines[1:]),
        "changed": b"".join(lines).replace(made.ODD.encode(), b"odd:other"),
        "cut": b"".join(lines)[:-40],
        "header-only": lines[0],
        "fuzz": lines[0] + msgspec.json.encode(CampaignRecord(1, 1.0, 1, 1, 1.0, 0, 0.0)) + b"\n",
        "newer": b"".join(lines).replace(b'"format":1', b'"format":9'),
        "other-protocol": b"".join(
            [lines[0].replace(b'"protocol":"nsq"', b'"protocol":"xyz"'), *lines[1:-1]]
        ),
    }
    path.write_bytes(texts[kind])
    return path


def test_a_campaign_has_no_report_that_says_that_nothing_failed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    damaged("fuzz")

    assert main(["report", "b.jsonl", "--junit", "r.xml"]) == 2
    assert (
        "b.jsonl is of a fuzz campaign, of which there are no reports" in capsys.readouterr().err
    )
    assert not Path("r.xml").exists()


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("empty", "expected a bundle beginning with its header"),
        ("no-bundle", "line 1: expected a bundle record"),
        ("binary", "line 1: expected a bundle record"),
        ("no-header", "expected a bundle beginning with its header"),
        ("changed", "the file was changed after the run"),
        ("cut", "is it whole?"),
        ("header-only", "b.jsonl is cut off: it ends without a case"),
        ("fuzz", "b.jsonl is of a fuzz campaign; `wireproof replay ID"),
        ("newer", "bundle format 9 is newer than this kit's"),
        ("other-protocol", "protocol 'xyz' is unknown to this kit"),
    ],
)
def test_a_damaged_bundle_gets_one_sentence(
    kind: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged(kind)

    assert main(["judge", "b.jsonl"]) == 2

    told = capsys.readouterr()
    assert told.out == ""
    assert sentence in told.err
    assert len(told.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.jsonl"], "none.jsonl: cannot be read"),
        (["."], "cannot be read"),
        (["b.jsonl", "--bundle", "b.jsonl"], "is the bundle that is judged"),
        (["b.jsonl", "--bundle", "b.jsonl/x"], "cannot be written"),
        (["b.jsonl", "--spec-rev", "0"], "--spec-rev"),
        (["b.jsonl", "--spec-rev", "1"], "revision 1 of the law of nsq was withdrawn"),
        (["b.jsonl", "--origin", "deployed"], "--origin 'deployed': expected text, base, premise"),
        (["b.jsonl", "--spec-rev", "99"], "this kit knows nsq up to revision 3"),
        (["b.jsonl", "--config", "none.toml"], "the file does not exist"),
    ],
)
def test_wrong_arguments_get_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made.write(Path("b.jsonl"), made.failing())

    assert main(["judge", *arguments]) == 2

    err = capsys.readouterr().err
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_the_changes_alone_are_shown_with_both_exit_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made.write(Path("b.jsonl"), made.failing())
    records, head = made.read(Path("b.jsonl")).cases, made.read(Path("b.jsonl")).header
    failed = next(record for record in records if record.observation == made.ODD)
    other = next(record for record in records if record.verdict == "pass")
    recorded = [
        msgspec.structs.replace(record, level="should")
        if record is failed
        else msgspec.structs.replace(record, verdict="fail")
        if record is other
        else record
        for record in records
    ]
    Path("wireproof.toml").write_text("[run]\nspec_rev = 2\n")
    made.seal(Path("b.jsonl"), head, recorded)

    assert main(["judge", "b.jsonl", "--changes-only"]) == 1

    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("revision 2 of the configuration does not apply: without --changes-only")
    assert f"{other.case} fail -> pass" in out
    assert f"{failed.case} fails {failed.clause} at must; it was should" in out
    assert "1 verdict changed against the run, 1 failure at another level" in out
    assert "FAIL " not in out
    assert out.endswith("now 1")
    assert main(["judge", "b.jsonl", "--changes-only", "--json"]) == 1
    assert '"event":"diff"' in capsys.readouterr().out


def test_known_deviations_are_no_change_of_the_law(capsys: pytest.CaptureFixture[str]) -> None:
    run = str(made.write(Path("b.jsonl"), made.failing()))
    main(["baseline", "update", "known.toml", "--bundle", run, "--reason", "r"])
    main(["judge", run, "--baseline", "known.toml", "--bundle", "known.jsonl"])
    capsys.readouterr()

    listed = main(["judge", run, "--changes-only", "--baseline", "known.toml"])
    told = capsys.readouterr().out.splitlines()
    unlisted = main(["judge", "known.jsonl", "--changes-only"])
    counted = capsys.readouterr().out.splitlines()
    main(["judge", run, "--changes-only", "--baseline", "known.toml", "--json"])

    assert (listed, unlisted) == (0, 1)
    assert told[-2:] == ["0 verdicts changed against the run", "exit code of the run 1, now 0"]
    assert counted[-3:] == [
        "0 verdicts changed against the run",
        "1 known failure of the run counted again; --baseline FILE says that they are known",
        "exit code of the run 0, now 1",
    ]
    assert json.loads(capsys.readouterr().out)["cases"] == []
