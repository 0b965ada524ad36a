"""Bundles that somebody sends to do harm: each command says one sentence, in bounded time."""

import contextlib
import io
import json
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import hostile_bundles as hostile
import hostile_runs
import pytest
from example_count import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from wireproof.main import main
from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.errors import UsageFault
from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.bundle_file import read_bundle as read_for_reports
from wireproof_reports.pipeline.bundles.incoming import read_in
from wireproof_reports.pipeline.columns import record_batch
from wireproof_reports.render.html import render as rendered
from wireproof_reports.render.markdown import render as markdown
from wireproof_spec.record_file import BundleTooLarge, open_bundle

pytestmark = pytest.mark.long

MOST_CPU_S = 60.0 if hostile.IS_WHOLE else 20.0
MOST_MB = 1200
REFUSED = [
    "nested-lists",
    "nested-objects",
    "level-unknown",
    "profile-unknown",
    "reading-unknown",
    "gzip-one-line",
    "gzip-many-lines",
    "gzip-in-gzip",
    "long-line",
    "repeats-negative",
    "step-inflates",
    "steps-inflate",
    "step-length-negative",
    "parts-outside",
    "cases-too-many",
    "numbers-huge",
    "texts-surrogate",
    "repeats-others",
    "observation-long",
    "numbers-large",
    "numbers-float",
    "numbers-negative",
]
PUT_ASIDE = (
    "level-unknown",
    "repeats-negative",
    "parts-outside",
    "step-inflates",
    "step-length-negative",
)
"""What a history takes without the one damaged line."""


@pytest.fixture(scope="module")
def runner() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, hostile_runs.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=_environment(),
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def _environment() -> dict[str, str]:
    from cli_process import clean_environment

    return {**clean_environment(), "PYTHONPATH": str(Path(hostile.__file__).parent)}


def _commands(name: str, at: int) -> list[str]:
    """Return the commands that meet a bundle: in `make test` every third, another third each time.

    A bundle that aims at files or at the terminal meets all, as each does in `make edges`.
    """
    every = 1 if hostile.IS_WHOLE or "place" in name or "screen" in name else 3
    return [command for turn, command in enumerate(hostile_runs.RUNS) if (turn + at) % every == 0]


MEETINGS = {name: _commands(name, at) for at, name in enumerate(hostile.corpus())}


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("name", MEETINGS)
def test_commands_on_a_hostile_bundle(name: str, runner: subprocess.Popen[str]) -> None:
    assert runner.stdin is not None
    assert runner.stdout is not None
    runner.stdin.write(" ".join((name, *MEETINGS[name])) + "\n")
    runner.stdin.flush()

    results = json.loads(runner.stdout.readline())
    assert list(results) == MEETINGS[name]
    for command, told in results.items():
        came = hostile_runs.Came(*told)
        assert came.code in (0, 1, 2, 3), (command, came)
        assert "wireproof: kit error" not in came.out, (command, came.out)
        assert "Traceback" not in came.out, (command, came.out)
        assert _acting(came.out) == set(), command
        assert came.cpu_s < MOST_CPU_S, (command, came.cpu_s)
        assert came.mb < MOST_MB, (command, came.mb)
        assert came.strays == [], command


def _acting(text: str) -> set[str]:
    """Return the control, format and separating signs of a text but for its line ends."""
    kinds = {sign: unicodedata.category(sign) for sign in set(text) - {"\n"}}
    return {sign for sign, kind in kinds.items() if kind in ("Cc", "Cf", "Cs", "Zl", "Zp")}


@pytest.mark.slow
@pytest.mark.parametrize("name", hostile.corpus())
def test_a_history_takes_or_refuses_a_hostile_bundle(name: str, tmp_path: Path) -> None:
    path = tmp_path / "sent.jsonl"
    path.write_bytes(hostile.corpus()[name]())

    try:
        with open_bundle(path) as file:
            incoming = read_in(str(path), file)
    except (BundleFault, BundleTooLarge):
        assert name in (*REFUSED, "protocol-is-a-place")
        return
    assert name not in REFUSED or (name in PUT_ASIDE and incoming.rows["quarantine"])
    for view, rows in incoming.rows.items():
        if rows:
            batch = record_batch(view, rows, incoming.shared, incoming.glance.protocol, None)
            assert batch.num_rows == len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_beyond_a_limit_is_one_sentence_in_both_readers(name: str, tmp_path: Path) -> None:
    path = tmp_path / "sent.jsonl"
    path.write_bytes(hostile.corpus()[name]())

    with pytest.raises(UsageFault) as told:
        read_bundle(path)
    with pytest.raises(BundleFault) as told_too:
        read_for_reports(path)
    for sentence in map(str, (told.value, told_too.value)):
        assert "sent.jsonl" in sentence
        assert "\n" not in sentence
        assert len(sentence) < 500


@pytest.mark.parametrize("command", ["judge", "diff", "diff-md", "replay-nearest", "baseline"])
@pytest.mark.parametrize("name", ["texts-screen", "case-is-the-screen", "claims-unknown"])
def test_text_of_a_bundle_does_not_act_on_the_terminal(
    name: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("B").write_bytes(hostile.corpus()[name]())
    Path("GOOD").write_bytes(hostile.sealed(hostile.lines()))

    code = main(hostile_runs.RUNS[command])

    told = capsys.readouterr()
    assert code in (0, 1, 2)
    assert "kit error" not in told.err
    assert _acting(told.out + told.err) == set()


def test_a_bar_in_code_ends_no_cell_of_a_markdown_table(tmp_path: Path) -> None:
    (tmp_path / "B").write_bytes(hostile.with_case(observation="ok|<script>x</script>|"))

    text = markdown(tmp_path / "B")

    assert "<script>" not in text
    assert "<code>ok&#124;&#60;script&#62;x&#60;/script&#62;&#124;</code>" in text


ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from(["", hostile.SCREEN, hostile.MARKUP, hostile.PLACE, "*" * 500, "0" * 5000]),
    st.text(max_size=20),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=3),
)


@pytest.mark.slow
@settings(max_examples=examples(100 if hostile.IS_WHOLE else 10))
@given(data=st.data())
def test_odd_values_anywhere_in_a_bundle(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    objects = hostile.whole()
    for _ in range(data.draw(st.integers(1, 3))):
        record = data.draw(st.sampled_from(objects))
        _replace(record, data)
    path = tmp_path_factory.mktemp("odd") / "B"
    path.write_bytes(hostile.sealed(objects))

    for words in (["judge", path], ["diff", path, path], ["diff", path, path, "--md"]):
        told = io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            code = main([str(word) for word in words])
        assert code in (0, 1, 2, 3)
        assert "wireproof: kit error" not in told.getvalue()
        assert _acting(told.getvalue()) == set()
    with contextlib.suppress(BundleFault):
        rendered(path)
        markdown(path)


def _replace(value: object, data: st.DataObject) -> None:
    while True:
        assert isinstance(value, dict | list)
        places = list(value) if isinstance(value, dict) else list(range(len(value)))
        place = data.draw(st.sampled_from(places))
        inner = value[place]
        if isinstance(inner, dict | list) and inner and data.draw(st.booleans()):
            value = inner
            continue
        value[place] = data.draw(ODD_VALUES)
        return


@pytest.mark.parametrize("command", ["judge", "report"])
def test_counts_that_no_run_has_are_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    group = {"group": "g", "title": "t", "judged": True, "whole": True}
    counts = {"must": [10**400, 1]}
    path = tmp_path / "b.jsonl"
    path.write_bytes(hostile.with_footer(groups=[{**group, "counts": counts}]))

    assert main([command, str(path)]) == 2

    told = capsys.readouterr().err
    assert "kit error" not in told
    assert "groups[0].counts" in told
