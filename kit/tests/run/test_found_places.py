"""What lies where the kit writes by itself may be a stranger's: no link there leads elsewhere."""

import json
from collections.abc import Callable
from pathlib import Path

import cli_bundle as made
import pytest
from scripted_peer import ScriptedPeer, saying

from wireproof.fuzzing.corpus import STATE, open_corpus
from wireproof.main import main
from wireproof.options import confirmation
from wireproof.running.last_failed import read_last_failed, write_last_failed
from wireproof_kit.errors import UsageFault
from wireproof_kit.version import KIT_VERSION

MINE = "a word of mine"


@pytest.fixture(autouse=True)
def victim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a stranger's folder; return a file of the user's outside of it."""
    there = tmp_path / "clone"
    there.mkdir()
    monkeypatch.chdir(there)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(confirmation, "_AGREED", set[str]())
    outside = tmp_path / "victim"
    outside.write_text(MINE)
    return outside


@pytest.mark.process
def test_bundles_are_not_written_through_a_linked_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "elsewhere").mkdir()
    Path("out").symlink_to(tmp_path / "elsewhere")
    with ScriptedPeer(saying()) as peer:
        url = f"nsq://127.0.0.1:{peer.address[1]}"
        fuzz, client = ["fuzz", url, "--cases", "1"], ["client", "--exec", "false"]
        for command in (["run", url], fuzz, client):
            assert main(command) == 2
            told = capsys.readouterr().err
            assert "which is outside of this folder: give --bundle to name a place" in told

    assert list((tmp_path / "elsewhere").iterdir()) == []


def _link(place: Path, victim: Path) -> None:
    place.symlink_to(victim)


def _own(place: Path, victim: Path) -> None:
    place.write_bytes(victim.read_bytes())


@pytest.mark.parametrize("lay", [_link, _own])
@pytest.mark.parametrize("is_cause", [False, True])
def test_a_page_beside_the_bundle_replaces_no_other_file(
    is_cause: bool,
    lay: Callable[[Path, Path], None],
    victim: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    failures = made.failing()
    made.write(Path("b.jsonl"), failures)
    failure = failures[0]
    name = f"b.{failure.case.replace('/', '-')}.html" if is_cause else "b.html"
    lay(Path(name), victim)

    assert main(["report", "b.jsonl", *(["--cause", failure.case] if is_cause else [])]) == 2

    assert "give --html to name a place" in capsys.readouterr().err
    assert Path(name).read_text() == victim.read_text() == MINE


def test_a_page_of_ours_is_replaced_unasked() -> None:
    made.write(Path("b.jsonl"), made.failing())
    case = made.failing()[0].case

    for _ in range(2):
        assert main(["report", "b.jsonl", "-q"]) == 0
        assert main(["report", "b.jsonl", "--cause", str(case), "-q"]) == 0


@pytest.mark.parametrize("name", ["wireproof.toml", ".github"])
def test_init_writes_through_no_link(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).symlink_to(tmp_path / "new")
    command = ["init", "--url", "nsq://127.0.0.1:4150", "--profile", "must", "--ci", "github"]

    assert main(command) == 2
    assert main([*command, "--force"]) == 2

    assert "a symbolic link leads out of this folder" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    assert not Path("deviations.toml").exists()


def test_a_baseline_is_not_written_through_the_link_beside_it(victim: Path) -> None:
    made.write(Path("b.jsonl"), made.failing())
    Path(".d.toml.new").symlink_to(victim)

    assert main(["baseline", "update", "d.toml", "--bundle", "b.jsonl", "--reason", "x"]) == 0

    assert victim.read_text() == MINE
    assert "reason" in Path("d.toml").read_text()


def test_what_failed_is_kept_through_no_link(victim: Path, tmp_path: Path) -> None:
    failed = made.failing()
    place = Path("out/.last-failed.json")
    place.parent.mkdir()
    place.symlink_to(victim)
    write_last_failed(place, failed)
    assert read_last_failed(place)
    assert victim.read_text() == MINE

    place.unlink()
    place.parent.rmdir()
    (tmp_path / "elsewhere").mkdir()
    place.parent.symlink_to(tmp_path / "elsewhere")
    write_last_failed(place, failed)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_device_in_place_of_what_failed_is_not_read() -> None:
    place = Path("out/.last-failed.json")
    place.parent.mkdir()
    place.symlink_to("/dev/zero")

    assert read_last_failed(place) == frozenset()


def test_a_link_to_nothing_is_no_bundle(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    Path("out/run.jsonl").symlink_to("nowhere")

    assert main(["replay", "0123456789ab"]) == 2

    assert "there is no bundle in out/" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("allure", "categories.json"),
        ("allure", "environment.properties"),
        ("allure", "wireproof.html"),
        ("pcap-all", "nsq.lua"),
    ],
)
def test_a_folder_that_is_named_may_hold_links_that_are_not(
    kind: str, name: str, victim: Path
) -> None:
    made.write(Path("b.jsonl"), made.failing())
    assert main(["report", "b.jsonl", f"--{kind}", "there", "-q"]) == 0
    names = [name] if kind == "allure" else [path.name for path in Path("there").iterdir()]
    for each in names:
        Path("there", each).unlink()
        Path("there", each).symlink_to(victim)

    assert main(["report", "b.jsonl", f"--{kind}", "there", "-q"]) == 0

    assert names
    assert victim.read_text() == MINE
    assert not any(Path("there", each).is_symlink() for each in names)


def test_a_corpus_writes_through_no_link(victim: Path) -> None:
    Path("corpus").mkdir()
    corpus = open_corpus(Path("corpus"), "nsq")
    Path("corpus", STATE).symlink_to(victim)

    corpus.stop(1, 2, interrupted=True, wanted="")

    assert victim.read_text() == MINE
    assert corpus.start(None, "") == (1, 2)


def test_a_campaign_does_not_go_on_beyond_any_batch(victim: Path) -> None:
    Path("corpus").mkdir()
    told = {"seed": 1, "batch": 10**300, "interrupted": True, "wanted": "", "kit": KIT_VERSION}
    Path("corpus", STATE).write_text(json.dumps(told))

    with pytest.raises(UsageFault, match="expected where a campaign stopped"):
        open_corpus(Path("corpus"), "nsq")
