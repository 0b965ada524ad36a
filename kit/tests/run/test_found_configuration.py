"""A configuration that was only found may choose cases; anything else asks the user once."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from finding_scripts import header
from scripted_peer import ScriptedPeer, saying

from wireproof.main import main
from wireproof.options import confirmation
from wireproof_kit.wire.address import resolve

LOOPBACK = 'url = "nsq://127.0.0.1:1"\n'
AFAR = "nsq://192.0.2.1:4150"
TARGETS = {
    "auth_env": (LOOPBACK + 'auth_env = "HOME"\n', "send the environment variable 'HOME'"),
    "auth_env-in-url": (
        'url = "nsq://127.0.0.1:1?auth_env=HOME"\n',
        "send the environment variable 'HOME'",
    ),
    "afar": (f'url = "{AFAR}"\n', f"contact '{AFAR}'"),
    "link-local": ('url = "nsq://169.254.169.254:80"\n', "contact 'nsq://169.254.169.254:80'"),
    "looks-like-loopback": ('url = "nsq://127.example:1"\n', "contact 'nsq://127.example:1'"),
    "http-in-url": (
        'url = "nsq://127.0.0.1:1?http=192.0.2.1:80"\n',
        "contact '192.0.2.1:80'",
    ),
    "http": (LOOPBACK + 'http = "http://192.0.2.1:80"\n', "contact 'http://192.0.2.1:80'"),
    "lookupd": (LOOPBACK + 'lookupd = ["127.0.0.1:2", "192.0.2.1:80"]\n', "'192.0.2.1:80'"),
    "control": (LOOPBACK + 'control = "t@192.0.2.1:80"\n', "contact '192.0.2.1:80'"),
    "key": (LOOPBACK + 'key = "me.pem"\n', "identify you by the file '"),
}
CONTACTING = (("run",), ("probe",), ("doctor",), ("fuzz", "--cases", "1"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a stranger's folder, with a state directory of its own."""
    there = tmp_path / "clone"
    there.mkdir()
    monkeypatch.chdir(there)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(confirmation, "_AGREED", set[str]())
    return there


def configure(text: str) -> None:
    Path("wireproof.toml").write_text(text)


@pytest.mark.process
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("command", CONTACTING)
def test_a_target_elsewhere_or_with_secrets_is_refused(
    command: tuple[str, ...], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text, act = TARGETS[name]
    configure(f"[target]\n{text}")

    assert main(command) == 2

    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 1
    assert told[0].startswith("wireproof: wireproof.toml was only found in this folder, and would")
    assert act in told[0]
    assert told[0].endswith("give --config wireproof.toml to allow it")


@pytest.mark.process
def test_keys_of_the_file_hold_back_though_the_same_url_is_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure(f"[target]\n{LOOPBACK}auth_env = 'HOME'\n")

    assert main(["probe", "nsq://127.0.0.1:1"]) == 2
    assert "send the environment variable 'HOME'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "act"),
    [
        ("cacert = 'ca.pem'", "ca.pem' ([target] cacert)"),
        ("tls = false", "connect without TLS ([target] tls)"),
    ],
)
@pytest.mark.parametrize("url", [f"url = '{AFAR}'\n", ""])
def test_nobody_is_trusted_for_a_given_target_elsewhere(
    url: str, key: str, act: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(f"[target]\n{url}{key}\n")

    assert main(["probe", AFAR]) == 2
    assert act in capsys.readouterr().err


@pytest.mark.process
def test_another_target_is_none_of_the_files_business(
    dead_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(f"[target]\nurl = '{AFAR}'\nauth_env = 'HOME'\n")

    assert main(["probe", f"nsq://127.0.0.1:{dead_port}"]) == 2
    assert "found in this folder" not in capsys.readouterr().err


@pytest.mark.process
def test_a_loopback_target_without_secrets_may_be_chosen(
    dead_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(f"[target]\nurl = 'nsq://localhost:{dead_port}'\n[run]\nprofile = 'should'\n")

    assert main(["probe"]) == 2
    assert f"cannot reach nsq://localhost:{dead_port}" in capsys.readouterr().err


def by_file(name: str) -> dict[str, str]:
    return {
        "html": f"[reports]\nhtml = '{name}'\n",
        "junit": f"[reports]\njunit = '{name}'\n",
        "allure": f"[reports]\nallure = '{name}'\n",
        "pcap": f"[reports]\npcap = '{name}'\n",
        "bundle": f"[reports]\nbundle = '{name}'\n",
    }


@pytest.mark.process
@pytest.mark.parametrize("key", by_file(""))
@pytest.mark.parametrize("command", [("run", "--reference"), ("client", "--exec", "false")])
def test_nothing_is_written_outside_of_the_files_folder(
    command: tuple[str, ...], key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(by_file("../elsewhere")[key])

    assert main(command) == 2

    assert f"outside of its folder ([reports] {key})" in capsys.readouterr().err
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.process
def test_a_campaign_writes_nothing_outside_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(by_file("../elsewhere")["bundle"])

    assert main(["fuzz", "--reference", "--cases", "1"]) == 2

    assert "outside of its folder ([reports] bundle)" in capsys.readouterr().err
    assert not (tmp_path / "elsewhere").exists()


def test_findings_beside_a_bundle_of_the_file_go_through_no_link(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(by_file("x.jsonl")["bundle"])
    (tmp_path / "elsewhere").mkdir()
    Path("x-findings").symlink_to(tmp_path / "elsewhere")

    assert main(["fuzz", "--reference", "--cases", "1"]) == 2

    assert "outside of its folder ([reports] bundle)" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["wireproof.toml", "pyproject.toml"])
def test_a_pipe_that_is_found_is_not_waited_for(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(name)

    assert main(["judge", "b.jsonl"]) == 2

    assert f"{name}: expected a file" in capsys.readouterr().err


@pytest.mark.parametrize("revision", ["0", "9" * 5000, '"' + "9" * 5000 + '"', '"٣"'])
def test_a_revision_is_a_short_number(revision: str, capsys: pytest.CaptureFixture[str]) -> None:
    configure(f"[run]\nspec_rev = {revision}\n")

    assert main(["judge", "b.jsonl"]) == 2

    assert "configuration " in (told := capsys.readouterr().err)
    assert "kit error" not in told


def _text(place: Path) -> None:
    place.write_text("a word of mine")


def _empty(place: Path) -> None:
    place.touch()


def _link(place: Path) -> None:
    outside = place.resolve().parent.parent / "victim"
    outside.write_text("a word of mine")
    place.symlink_to(outside)


@pytest.mark.process
@pytest.mark.parametrize("make", [_text, _empty, _link])
@pytest.mark.parametrize("key", ["html", "junit"])
def test_a_file_that_is_not_ours_is_not_replaced(
    make: Callable[[Path], None], key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = Path("victim")
    make(victim)
    before = victim.read_bytes()
    configure(by_file("victim")[key])

    assert main(["run", "--reference", "nsq/publish/trace/one"]) == 2

    told = capsys.readouterr().err
    assert "'victim'" in told.replace(str(Path.cwd()) + "/", "")
    assert "give --config wireproof.toml" in told
    assert victim.read_bytes() == before


@pytest.mark.process
def test_reports_of_ours_in_the_folder_are_replaced_unasked() -> None:
    text = "".join(f"{key} = 'out/{key}'\n" for key in by_file(""))
    configure(f"[reports]\n{text}")

    for _ in range(2):
        assert main(["run", "--reference", "nsq/publish/trace/one", "-q"]) == 0


def test_a_baseline_outside_of_the_folder_is_not_rewritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = tmp_path / "deviations.toml"
    victim.write_text("# mine\n")
    configure("[run]\nbaseline = '../deviations.toml'\n")

    assert main(["baseline", "prune"]) == 2

    assert "outside of its folder ([run] baseline)" in capsys.readouterr().err
    assert victim.read_text() == "# mine\n"


@pytest.mark.process
@pytest.mark.parametrize("command", ["replay", "report"])
def test_commands_that_read_bundles_take_nothing_from_the_file(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedPeer(saying()) as listening:
        port = listening.address[1]
        Path("b.jsonl").write_bytes(msgspec.json.encode(header(f"nsq://127.0.0.1:{port}")) + b"\n")
        configure(
            f"[target]\nurl = '{AFAR}'\nauth_env = 'HOME'\nreset = 'touch owned'\n"
            "[reports]\nhtml = '../elsewhere'\n"
        )
        main([command, "b.jsonl"])

    told = capsys.readouterr()
    assert "192.0.2.1" not in told.out + told.err
    assert not Path("owned").exists()
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.process
def test_the_file_is_asked_for_once_and_again_when_it_changes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def confirm(text: str, *, err: bool) -> bool:
        assert err
        asked.append(text)
        return True

    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("click.confirm", confirm)
    with ScriptedPeer(saying()) as listening:
        port = listening.address[1]
        text = f"[target]\nurl = 'nsq://127.0.0.1:{port}'\nauth_env = 'NO_SUCH_ONE'\n"
        configure(text)
        for _ in range(2):
            assert main(["probe"]) == 2
            monkeypatch.setattr(confirmation, "_AGREED", set[str]())
        told = capsys.readouterr().err
        configure(text + "http = '127.0.0.1:1'\n")
        assert main(["probe"]) == 2

    assert len(asked) == 2
    assert told.count("send the environment variable 'NO_SUCH_ONE'") == 1


@pytest.mark.process
def test_a_copy_in_another_folder_is_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"[target]\n{LOOPBACK}reset = './reset'\n"
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("click.confirm", lambda *_a, **_k: True)
    configure(text)
    assert main(["run"]) == 2
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: False))
    configure(text)
    capsys.readouterr()

    assert main(["run"]) == 2
    assert "run the command './reset'" in capsys.readouterr().err


@pytest.mark.process
def test_what_is_said_cannot_act_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    command = json.dumps("x\x1b[2J\u202e")
    configure(f"[target]\n{LOOPBACK}reset = {command}\n")

    assert main(["run"]) == 2

    told = capsys.readouterr().err
    assert told.strip().isprintable()


def test_resolution_never_fails_aloud() -> None:
    for host in ("", "a..b", "x" * 70 + ".example", "\udcff", "host name", "."):
        assert resolve(host) == ()
