"""Several targets in one command: their files, the index of their reports, the exit code."""

from pathlib import Path

import pytest

from wireproof.commands import run as run_module
from wireproof.main import main
from wireproof.options.target_choice import NamedTarget
from wireproof.running.several import add_labels
from wireproof_kit.errors import TargetUnreachable
from wireproof_kit.targets.embedded import start_reference

pytestmark = pytest.mark.process

DEAD = "nsq://127.0.0.1:1"


def test_targets_are_judged_in_turn_and_the_page_is_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    right, wrong = (
        start_reference("nsq"),
        start_reference("nsq", ["--fault", "trace-not-answered"]),
    )
    try:
        files = ["--html", "report.html", "--bundle", "b.jsonl", "--timeout", "3"]
        urls = [right.url, wrong.url, DEAD]
        code = main(["run", *urls, "nsq/publish/trace/one", "--repeat-failed", "1", *files])
    finally:
        right.close()
        wrong.close()

    out = capsys.readouterr().out
    assert code == 2
    assert "NO FAILURE" in out
    assert "NOT CONFORMANT" in out
    assert out.splitlines()[-1] == "3 targets: the worst exit code stands for all   exit 2"
    page = Path("report.html").read_text("utf-8")
    for url in urls[:2]:
        place = url.removeprefix("nsq://").partition("?")[0].replace(":", "-")
        assert Path(f"b-{place}.jsonl").is_file()
        assert Path(f"report-{place}.html").is_file()
        assert f'<a href="report-{place}.html">' in page
    assert "not judged: cannot reach nsq://127.0.0.1:1 (connection refused)" in page
    assert len(list(Path().glob("*.html"))) == 3


def test_an_interruption_ends_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = iter([None, 130])

    def judge(*_: object, **__: object) -> int:
        code = next(codes)
        if code is None:
            raise TargetUnreachable("no")
        return code

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_module, "judge_target", judge)

    assert main(["run", "nsq://a:1", "nsq://b:1", "nsq://c:1"]) == 130
    assert "nsq://c:1" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([DEAD, DEAD], "is given twice"),
        ([DEAD, "nsq://a:1", "--http", "a:2"], "write URL?http=VALUE instead"),
        ([DEAD, "nsq://a:1", "--pid", "1"], "--pid cannot be used with several targets"),
        ([DEAD, "nsq://a:1", "--lf"], "--lf cannot be used with several targets"),
        ([DEAD, "nsq://a:1", "--reference"], "--reference cannot be used with several"),
        ([DEAD, "iggy://a:1", "nsq/publish"], "expected targets of one protocol; found iggy, nsq"),
        ([DEAD, "nsq://"], "found no host"),
    ],
)
def test_what_fits_one_target_is_refused(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments]) == 2

    told = capsys.readouterr()
    assert sentence in told.err
    assert told.out == ""


def test_targets_of_one_address_have_names_of_their_own() -> None:
    urls = ("nsq://a:1?http=a:2", "nsq://a:1?http=a:3", "nsq://[::1]:4150")

    names = [name for name, _ in add_labels([NamedTarget(url) for url in urls])]

    assert names == ["-a-1", "-a-1-2", "-1-4150"]


@pytest.mark.parametrize("key", ["http", "control"])
def test_a_dead_address_beside_the_target_is_refused_before_the_first_case(
    key: str,
    dead_port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its cases were not applicable, and the advice was to exclude them."""
    monkeypatch.chdir(tmp_path)
    place = f"127.0.0.1:{dead_port}"
    broker = start_reference("nsq")
    try:
        url = broker.url.partition("?")[0]
        assert main(["run", url, f"--{key}", place, "nsq/http"]) == 2
        assert f"--{key} {place}: nothing accepts connections there" in capsys.readouterr().err
        assert main(["fuzz", url, f"--{key}", place, "--cases", "9"]) == 2
        assert f"--{key} {place}: nothing accepts connections there" in capsys.readouterr().err
        assert main(["probe", url, f"--{key}", place]) == 0
    finally:
        broker.close()
    assert not list(Path().glob("**/*.jsonl"))
