"""The command that compares two bundles: what it tells, its exit code, one sentence otherwise."""

import json
from pathlib import Path

import cli_bundle as made
import pytest

from wireproof.main import main
from wireproof_kit.bundle.file import BundleWriter
from wireproof_kit.verdicts.diff import KINDS
from wireproof_kit.verdicts.outcome import RunFactors, conclude
from wireproof_spec.record import CaseRecord, TargetRecord


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def good() -> str:
    return str(made.write(Path("good.jsonl"), list(made.conforming())))


def bad(level: str = "must") -> str:
    return str(made.write(Path("bad.jsonl"), made.failing(level=level)))


def broken() -> CaseRecord:
    return next(r for r in made.failing() if r.observation == made.ODD)


def test_a_run_compared_with_itself_shows_no_change(capsys: pytest.CaptureFixture[str]) -> None:
    path = bad()

    assert main(["diff", path, path, "--fail-on", "regressed,unstable,expired,changed"]) == 0

    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("no change; ")
    assert last.endswith("exit 0")


def test_a_regression_is_shown_and_fails_only_when_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    a, b = good(), bad()

    assert main(["diff", a, b]) == 0
    assert main(["diff", a, b, "--fail-on", "fixed"]) == 0
    assert main(["diff", b, a, "--fail-on", "regressed"]) == 0
    capsys.readouterr()
    assert main(["diff", a, b, "--fail-on", "unstable", "--fail-on", "regressed"]) == 1

    out = capsys.readouterr().out
    assert "REGRESSED 1   conformed in A, fails in B or can no longer be judged" in out
    assert f"  {broken().case}   pass -> fail   MUST {broken().clause}" in out
    assert "now: expected OK, connection open; saw never accepted" in " ".join(out.split())
    assert out.splitlines()[-1].startswith("1 regressed; ")
    assert out.splitlines()[-1].endswith("exit 1")
    assert all(len(line) <= 80 or broken().case in line for line in out.splitlines())


def test_cases_of_one_cause_are_one_entry(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [
        made.case(made.law(record), record.clause, observation, case=f"{record.case}/{number}")
        for record in list(made.conforming())[:1]
        for observation in (record.observation, made.ODD)
        for number in range(30)
    ]
    a, b = made.write(Path("a.jsonl"), cases[:30]), made.write(Path("b.jsonl"), cases[30:])

    main(["diff", str(a), str(b)])

    out = " ".join(capsys.readouterr().out.split())
    assert "REGRESSED 30 conformed in A" in out
    assert out.count("pass -> fail") == 1
    assert "same cause 29 more cases: /1, /10, /11, /12, /13, /14, … (-v lists all 29)" in out


@pytest.mark.parametrize("cut", ["A", "B"])
def test_a_run_that_was_interrupted_is_never_green(
    cut: str, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, part = good(), "part.jsonl"
    run = made.read(Path(whole))
    head, records = run.header, run.cases[:-1]
    writer = BundleWriter(Path(part), head)
    for record in records:
        writer.add(record)
    writer.close(conclude(head, records, made.catalogue(), RunFactors(interrupted=True)))
    a, b = (part, whole) if cut == "A" else (whole, part)

    assert main(["diff", a, b, "--fail-on", "regressed"]) == 3

    out = capsys.readouterr().out
    assert f"part     {cut} was interrupted" in out
    assert out.splitlines()[-1].endswith("exit 3")
    assert main(["diff", a, bad(), "--fail-on", "regressed"]) == 1
    assert main(["diff", a, b]) == 0
    capsys.readouterr()
    assert main(["judge", part]) == 130
    assert f"part     interrupted after {len(records)} cases" in capsys.readouterr().out
    main(["diff", a, b, "--json"])
    assert json.loads(capsys.readouterr().out.splitlines()[0])["interrupted"] == [cut]


def test_a_must_whose_origin_does_not_count_fails_nothing() -> None:
    fails = ["diff", good(), bad(), "--fail-on", "regressed"]

    assert main([*fails, "--origin", "text"]) == 1
    assert main([*fails, "--origin", "base,premise"]) == 0
    assert main([*fails, "--origin", "law"]) == 2


def test_the_head_shows_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    a = good()
    first = made.header(target=TargetRecord(made.URL, "nsq", {"version": "4.3"}))
    b = str(made.write(Path("next.jsonl"), list(made.conforming()), first))

    assert main(["diff", a, b]) == 0

    assert "differs  target version: 4.2 -> 4.3" in capsys.readouterr().out


def test_an_expired_deviation_is_told_apart_from_a_regression(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = made.failing()
    failed = next(r for r in made.read(made.write(Path("x.jsonl"), records)).cases if r.signature)
    entry = f'id = "{failed.case}"\nclause = "{failed.clause}"\nsignature = "{failed.signature}"'
    for name, until in (("live.toml", made.TOMORROW.isoformat()), ("old.toml", "2020-01-02")):
        Path(name).write_text(f'[[deviation]]\n{entry}\nreason = "r"\nexpires = {until}\n')
    a = made.write(Path("a.jsonl"), records, baseline=Path("live.toml"))
    b = made.write(Path("b.jsonl"), records, baseline=Path("old.toml"))

    assert main(["diff", str(a), str(b), "--fail-on", "regressed"]) == 0
    assert main(["diff", str(a), str(b), "--fail-on", "expired"]) == 1

    assert "EXPIRED 1   fails as before" in capsys.readouterr().out


def test_a_changed_case_is_listed_apart(capsys: pytest.CaptureFixture[str]) -> None:
    a = good()
    records = made.failing()
    changed = [
        made.case(made.law(r), r.clause, r.observation, case_hash="ba9876543210")
        if r.observation == made.ODD
        else r
        for r in records
    ]
    b = str(made.write(Path("b.jsonl"), changed))

    assert main(["diff", a, b, "--fail-on", "regressed"]) == 0
    assert main(["diff", a, b, "--fail-on", "changed"]) == 1

    assert "REDEFINED 1   the case itself changed" in capsys.readouterr().out


def test_a_regression_above_the_profile_is_shown_and_does_not_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    a, b = good(), bad("should")
    capsys.readouterr()

    assert main(["diff", a, b, "--fail-on", "regressed"]) == 0

    out = capsys.readouterr().out
    assert "REGRESSED 1   conformed" in out
    assert out.splitlines()[-1].startswith("1 regressed (none up to level must); ")


def test_another_observation_is_shown_though_the_verdict_stays(
    capsys: pytest.CaptureFixture[str],
) -> None:
    a = good()
    records = list(made.conforming())
    at = next(i for i, r in enumerate(records) if r.case.startswith("nsq/publish/reserved-name"))
    old = records[at]
    records[at] = made.case(made.law(old), old.clause, "delivered:header-changed")
    b = str(made.write(Path("b.jsonl"), records))
    capsys.readouterr()

    assert main(["diff", a, b, "--fail-on", "regressed"]) == 0

    out = capsys.readouterr().out
    assert "CHANGED, STILL CONFORMING 1   conforms in both" in out
    assert "now: delivered with a changed header" in " ".join(out.split())


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    a, b = good(), bad()
    capsys.readouterr()

    assert main(["diff", a, b, "--json", "--fail-on", "regressed"]) == 1

    told = capsys.readouterr()
    (event,) = [json.loads(line) for line in told.out.splitlines()]
    assert event["counts"]["regressed"] == 1
    assert event["exit"] == 1
    (case,) = event["cases"]
    assert (case["case"], case["class"]) == (broken().case, "regressed")
    assert (case["before"]["verdict"], case["after"]["verdict"]) == ("pass", "fail")
    assert "REGRESSED" in told.err


def test_markdown_is_a_page_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    a, b = good(), bad()
    capsys.readouterr()

    assert main(["diff", a, b, "--md"]) == 0

    told = capsys.readouterr()
    assert told.out.startswith("# good.jsonl compared with bad.jsonl\n")
    assert "## Regressed: 1" in told.out
    assert f"| `{broken().case}` | must `{broken().clause}` | pass -> fail |" in told.out
    assert told.err.splitlines()[-1].endswith("exit 0")


def test_quiet_tells_the_last_line_alone(capsys: pytest.CaptureFixture[str]) -> None:
    a, b = good(), bad()
    capsys.readouterr()

    assert main(["diff", a, b, "-q"]) == 0

    assert len(capsys.readouterr().out.splitlines()) == 1


def damaged(kind: str) -> Path:
    path = Path(good())
    lines = path.read_bytes().splitlines(keepends=True)
    texts = {
        "empty": b"",
        "foreign": b'{"event":"header"}\n',
        "binary": bytes(range(256)),
        "no-footer": b"".join(lines[:-1]),
        "half-a-line": b"".join(lines)[:-40],
        "changed": b"".join(lines).replace(b"0123456789ab", b"ba9876543210"),
    }
    path = Path(f"{kind}.jsonl")
    path.write_bytes(texts.get(kind, b""))
    if kind == "other-protocol":
        target = TargetRecord("iggy://127.0.0.1:1", "iggy", {})
        made.seal(path, made.header(target=target), list(made.conforming()))
    if kind == "no-cases":
        made.seal(path, made.header(), [])
    return path


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("empty", "empty.jsonl: expected a bundle beginning with its header"),
        ("foreign", "foreign.jsonl, line 1: expected a bundle record"),
        ("binary", "binary.jsonl, line 1: expected a bundle record"),
        ("no-footer", "no-footer.jsonl: expected a footer"),
        ("half-a-line", "is it whole?"),
        ("changed", "the file was changed after the run"),
        ("no-cases", "nothing in common"),
        ("other-protocol", "expected two runs of one protocol"),
    ],
)
@pytest.mark.parametrize("turned", [False, True], ids=["second", "first"])
def test_a_bad_bundle_gets_one_sentence(
    kind: str, sentence: str, capsys: pytest.CaptureFixture[str], *, turned: bool
) -> None:
    files = [bad(), str(damaged(kind))]

    assert main(["diff", *(reversed(files) if turned else files)]) == 2

    told = capsys.readouterr()
    assert told.out == ""
    assert sentence in told.err
    assert len(told.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["good.jsonl"], "missing argument 'B'"),
        (["good.jsonl", "none.jsonl"], "none.jsonl: cannot be read"),
        (["good.jsonl", "."], "cannot be read"),
        (["good.jsonl", "good.jsonl", "--fail-on", "regresed"], "did you mean 'regressed'?"),
        (["good.jsonl", "good.jsonl", "--fail-on", ""], "is no class"),
        (["good.jsonl", "good.jsonl", "--fail-on", "fixed,,"], "is no class"),
        (["good.jsonl", "good.jsonl", "--md", "--json"], "given together"),
        (["good.jsonl", "good.jsonl", "good.jsonl"], "unexpected extra argument"),
    ],
)
def test_wrong_arguments_get_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    good()

    assert main(["diff", *arguments]) == 2

    told = capsys.readouterr()
    assert sentence in told.err
    assert len(told.err.splitlines()) == 1


def test_help_explains_every_class(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "--help"]) == 0

    told = " ".join(capsys.readouterr().out.split())
    assert all(f"{kind} {about}" in told for kind, about in KINDS.items())
