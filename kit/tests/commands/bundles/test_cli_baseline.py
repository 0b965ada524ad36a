"""The deviations file: listed, pruned, checked; comments stay, half files never appear."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

import cli_bundle as made
import msgspec
import pytest

from wireproof.commands.bundles import baseline
from wireproof.main import main
from wireproof_kit.bundle.file import BundleWriter
from wireproof_kit.runner.instance import Instance
from wireproof_kit.verdicts.deviations import mark_finding, read_deviations
from wireproof_spec.fuzz_record import FindingRecord, FuzzCaseRecord, SentRecord

FILE = Path("known.toml")
RUN = Path("b.jsonl")
LATE = "2999-01-01"
CLAUSE = "ext.consume.attempts"


class KnownCase:
    """Stands for a collected case; only its id, and what it takes, are asked for."""

    arguments: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()

    def __init__(self, case_id: str) -> None:
        self.id = case_id


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(baseline, "collect", known_cases)
    made.write(RUN, made.failing(3))


def known_cases() -> list[Instance]:
    return [KnownCase(record.case) for record in made.conforming()]  # type: ignore[misc]


def entry(case_id: str, **changes: str) -> str:
    record = next(r for r in made.read(RUN).cases if r.case == case_id)
    fields = {
        "id": f'"{case_id}"',
        "clause": f'"{record.clause}"',
        "signature": f'"{record.signature or "0" * 12}"',
        "reason": '"because"',
        "expires": (made.TODAY + timedelta(days=30)).isoformat(),
        **changes,
    }
    return "[[deviation]]\n" + "".join(f"{key} = {value}\n" for key, value in fields.items())


def test_comments_of_a_file_without_entries_stay() -> None:
    FILE.write_text("# how to use this file\n")

    assert main(["baseline", "update", str(FILE), "--bundle", str(RUN), "--reason", "x"]) == 0
    assert FILE.read_text("utf-8").startswith("# how to use this file\n\n")
    assert ids()


def by_verdict(verdict: str) -> list[str]:
    return [record.case for record in made.read(RUN).cases if record.verdict == verdict]


def ids() -> list[str]:
    return [e.id for e in read_deviations(FILE, known_ids=None, today=made.TODAY)]


def test_update_lists_what_fails(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["baseline", "update", str(FILE), "--bundle", str(RUN), "--reason", "issue 812"])

    assert code == 0
    assert capsys.readouterr().out == "known.toml: 3 added, 0 kept\n"
    assert ids() == by_verdict("fail")
    first = read_deviations(FILE, known_ids=None, today=made.TODAY)[0]
    assert first.reason == "issue 812"
    # Midnight may have passed since the tests began.
    assert 180 <= (first.expires - made.TODAY).days <= 181


def test_update_writes_one_entry_a_cause_and_names_what_it_covers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = list(made.conforming())
    clauses = Counter(r.clause for r in records if r.level == "must")
    clause, _ = clauses.most_common(1)[0]
    shared = [r for r in records if r.clause == clause][:3]
    lesser = next(r for r in records if r.level == "should")
    odd = {r.case for r in (*shared, lesser)}
    records = [made.case(made.law(r), r.clause, made.ODD) if r.case in odd else r for r in records]
    run = made.write(Path("one-cause.jsonl"), records)

    assert main(["baseline", "update", str(FILE), "--bundle", str(run), "--reason", "r"]) == 0

    told = capsys.readouterr().out.splitlines()
    (listed,) = read_deviations(FILE, known_ids=None, today=made.TODAY)
    text = FILE.read_text()
    assert len(shared) == 3
    assert (listed.signature, len(listed.cause)) == ("", 12)
    assert all(record.case in text for record in shared)
    assert lesser.case not in text
    assert told[0] == "known.toml: 1 added, 0 kept"
    assert told[1].startswith("1 cause left out: the run counted up to level must")
    assert main(["judge", str(run), "--baseline", str(FILE)]) == 0
    assert "3 known" in capsys.readouterr().out


def test_update_says_how_to_leave_what_is_undecided(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = made.failing(1)
    records[-1] = made.case(made.law(records[-1]), records[-1].clause, "inconclusive:arrangement")
    run = made.write(Path("undecided.jsonl"), records)

    assert main(["baseline", "update", str(FILE), "--bundle", str(run), "--reason", "r"]) == 0

    told = capsys.readouterr().out.splitlines()
    assert told[0] == "known.toml: 1 added, 0 kept"
    assert told[1].startswith("1 undecided or unstable case cannot be listed")
    assert "--allow-unstable" in told[1]


def test_update_lists_findings_in_a_file_that_runs_read_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    case = FuzzCaseRecord(0, "fresh", "PUB_EXT", "json_header", "empty", (SentRecord(),))
    where = ("fresh", "PUB_EXT", "json_header")
    back = FindingRecord("0" * 12, "dead", "gone", *where, "dead", 1, 5, 5, 1, 0.1, (case,))
    campaign = Path("fuzz.jsonl")
    writer = BundleWriter(campaign, made.header())
    for finding in (back, msgspec.structs.replace(back, id="1" * 12, shown=0)):
        writer.add(finding)
    writer.close(made.read(RUN).footer or pytest.fail("the run has no footer"))
    update = ["baseline", "update", str(FILE), "--reason", "r", "--bundle"]

    assert main([*update, str(campaign)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert main([*update, str(RUN)]) == 0
    assert main([*update, str(campaign)]) == 0
    assert main(["baseline", "prune", str(FILE), "--bundle", str(campaign)]) == 0

    assert told == [
        "known.toml: 1 added, 0 kept",
        "1 finding left out: seen in the campaign, but not again",
    ]
    assert capsys.readouterr().out.splitlines()[-1] == "known.toml: 0 removed, 4 kept"
    listed, *failures = read_deviations(FILE, known_ids=None, today=made.TODAY)
    assert (listed.id, listed.clause) == (f"nsq/fuzz/dead/{back.id}", "fuzz")
    assert [entry.id for entry in failures] == by_verdict("fail")
    target = made.header().target
    assert mark_finding(back, [listed], target, made.TODAY).deviation is not None
    late = msgspec.structs.replace(listed, targets=("9.*",))
    assert mark_finding(back, [late], target, made.TODAY) == back
    assert main(["judge", str(RUN), "--baseline", str(FILE)]) == 0


def test_a_listed_run_judges_green(capsys: pytest.CaptureFixture[str]) -> None:
    main(["baseline", "update", str(FILE), "--bundle", str(RUN), "--reason", "known"])

    assert main(["judge", str(RUN), "--baseline", str(FILE)]) == 0
    assert "3 known" in capsys.readouterr().out


def test_update_adds_only_what_is_new_and_keeps_comments() -> None:
    first = by_verdict("fail")[0]
    FILE.write_text(f"# what we know\n\n{entry(first)}# behind\n")

    main(["baseline", "update", str(FILE), "--bundle", str(RUN), "--reason", "new"])

    assert ids() == by_verdict("fail")
    assert FILE.read_text().startswith(f"# what we know\n\n{entry(first)}# behind\n\n# must ")


def test_a_broken_way_is_listed_like_a_case(capsys: pytest.CaptureFixture[str]) -> None:
    way = made.add_way(RUN, CLAUSE, "attempts:other")
    main(["baseline", "update", str(FILE), "--bundle", str(RUN), "--reason", "known"])

    assert way in ids()
    assert main(["baseline", "check", str(FILE), "--bundle", str(RUN)]) == 0
    assert main(["judge", str(RUN), "--baseline", str(FILE)]) == 0
    assert main(["baseline", "prune", str(FILE), "--bundle", str(RUN)]) == 0
    assert way in ids()
    capsys.readouterr()


@pytest.mark.parametrize("name", ["nsq/passing/no.clause/again", f"nsq/passing/{CLAUSE}/never"])
def test_a_way_that_the_law_does_not_have_is_refused(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    FILE.write_text(entry(by_verdict("fail")[0], id=f'"{name}"'))

    assert main(["baseline", "check", str(FILE)]) == 2
    assert f"id {name!r} names a clause or a way" in capsys.readouterr().err


def test_update_again_changes_nothing() -> None:
    main(["baseline", "update", str(FILE), "--bundle", str(RUN), "--reason", "known"])
    before = FILE.read_bytes()

    assert main(["baseline", "update", str(FILE), "--bundle", str(RUN), "--reason", "x"]) == 0
    assert FILE.read_bytes() == before


def test_prune_cuts_out_what_passes_expired_or_is_unknown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failing, passing = by_verdict("fail"), by_verdict("pass")[0]
    past = (made.TODAY - timedelta(days=1)).isoformat()
    FILE.write_text(
        "# head\n\n"
        + entry(passing)
        + f"\n# about the second\n{entry(failing[0])}"
        + f"\n# about the third\n{entry(failing[1], expires=past)}"
        + "\n"
        + entry(failing[2], id='"nsq/none"')
    )

    assert main(["baseline", "prune", str(FILE), "--bundle", str(RUN)]) == 0

    told = capsys.readouterr().out.splitlines()
    assert told[-1] == "known.toml: 3 removed, 1 kept"
    url = made.read(RUN).header.target.url
    assert f"removed  {passing} passes in the run of {url}" in told
    assert f"removed  {failing[1]} has expired" in told
    assert "removed  nsq/none is not in the law" in told
    assert FILE.read_text() == f"# head\n\n# about the second\n{entry(failing[0])}\n"


def test_prune_of_another_form_is_written_anew() -> None:
    case_id = by_verdict("fail")[0]
    past = (made.TODAY - timedelta(days=1)).isoformat()
    one, two = (
        ", ".join(entry(case_id, **changes).splitlines()[1:])
        for changes in ({}, {"expires": past})
    )
    FILE.write_text(f"deviation = [{{{one}}}, {{{two}}}]\n")

    assert main(["baseline", "prune", str(FILE)]) == 0

    assert ids() == [case_id]


def test_check_ends_with_1_when_an_entry_is_expired_or_stale(
    capsys: pytest.CaptureFixture[str],
) -> None:
    failing, passing = by_verdict("fail")[0], by_verdict("pass")[0]
    past = (made.TODAY - timedelta(days=1)).isoformat()
    FILE.write_text(entry(failing) + entry(passing) + entry(failing, expires=past))

    assert main(["baseline", "check", str(FILE)]) == 1
    assert "3 entries, 1 expired, 0 stale" in capsys.readouterr().out
    assert main(["baseline", "check", str(FILE), "--bundle", str(RUN)]) == 1
    out = capsys.readouterr().out
    assert f"stale    {passing} passes now; remove it" in out
    assert f"expired  {failing}" in out


def test_check_of_a_good_file_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    FILE.write_text(entry(by_verdict("fail")[0]))

    assert main(["baseline", "check", str(FILE), "--bundle", str(RUN), "--json"]) == 0
    assert '"entries": 1' in capsys.readouterr().out


def test_the_configuration_may_name_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("wireproof.toml").write_text('[run]\nbaseline = "known.toml"\n')
    FILE.write_text(entry(by_verdict("fail")[0]))

    assert main(["baseline", "check"]) == 0
    assert "1 entry, " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["check"], "no deviations file named"),
        (["check", "none.toml"], "cannot be read"),
        (["check", "bad.toml"], "bad.toml"),
        (["check", "unknown.toml"], "is no case and no prefix of one"),
        (["update", "new.toml"], "--bundle FILE is needed"),
        (["update", "new.toml", "--bundle", "none.jsonl"], "none.jsonl: cannot be read"),
        (["update", "new.toml", "--bundle", "b.jsonl"], "--reason is needed for 3 new causes"),
        (
            ["update", "new.toml", "--bundle", "b.jsonl", "--reason", "x", "--expires", "soon"],
            "'--expires'",
        ),
        (
            ["update", "new.toml", "--bundle", "b.jsonl", "--expires", "2020-01-01"],
            "--expires 2020-01-01: expected today (",
        ),
        (
            ["update", "no/new.toml", "--bundle", "b.jsonl", "--reason", "x"],
            "cannot be written",
        ),
        (
            [
                "update",
                "n.toml",
                "--bundle",
                "b.jsonl",
                "--reason",
                "x",
                "--expires",
                "2999-01-01",
            ],
            "deviations file n.toml: nsq/publish/header expires 2999-01-01; expected at most",
        ),
    ],
)
def test_mistakes_get_one_sentence_and_leave_no_file(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.toml").write_text("[[deviation")
    Path("unknown.toml").write_text(entry(by_verdict("fail")[0], id='"nsq/none"'))
    before = sorted(Path().iterdir())

    assert main(["baseline", *arguments, "--no-input"]) == 2

    err = capsys.readouterr().err
    assert sentence in err
    assert len(err.splitlines()) == 1
    assert sorted(Path().iterdir()) == before
