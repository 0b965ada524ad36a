"""Files that people write: a device, deep nesting, a byte order mark, another encoding."""

from pathlib import Path

import pytest

from wireproof.main import main
from wireproof_kit import text_file

COMMANDS = {
    "settings": ["--config", "FILE", "baseline", "check"],
    "deviations": ["baseline", "check", "FILE"],
    "run": ["run", "--reference", "nsq/publish/trace/one", "--baseline", "FILE"],
}


def with_file(command: str, path: Path) -> list[str]:
    return [str(path) if word == "FILE" else word for word in COMMANDS[command]]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_without_end_is_refused(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_file, "MOST_BYTES", 1 << 20)

    assert main(with_file(command, Path("/dev/zero"))) == 2

    assert "/dev/zero: expected at most 1 MiB; found more" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"a = " + b"[" * 100_000, "cannot be read as TOML: "),
        (b"a = " + b"{a=" * 100_000, "cannot be read as TOML: "),
        (b"a = " + b"9" * 5000, "cannot be read as TOML: "),
        (b"a" + b".a" * 100_000 + b" = 1", "a line has too many dots for a TOML file"),
        (b"[a" + b".a" * 100_000 + b"]", "a line has too many dots for a TOML file"),
        (b"# \xff", "expected UTF-8; "),
        (b"a", "cannot be read as TOML: "),
    ],
    ids=["arrays", "tables", "digits", "dotted", "dotted-table", "latin-1", "word"],
)
def test_what_is_no_toml_is_one_sentence(
    command: str, data: bytes, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file.toml"
    path.write_bytes(data)

    assert main(with_file(command, path)) == 2

    (line,) = capsys.readouterr().err.splitlines()
    assert f"{path}: {told}" in line


def test_a_byte_order_mark_is_no_part_of_the_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings, deviations = tmp_path / "settings.toml", tmp_path / "deviations.toml"
    settings.write_bytes(b'\xef\xbb\xbf[run]\nbaseline = "deviations.toml"\n')
    deviations.write_bytes(b"\xef\xbb\xbf# none yet\n")

    assert main(["--config", str(settings), "baseline", "check"]) == 0

    assert "deviations.toml" in capsys.readouterr().out


def test_many_points_in_prose_are_no_nesting(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text(f'[run]\nbaseline = "x" # {"." * 2000}\n' + "# a.b.c\n" * 10_000)

    text = text_file.read_text(path, "settings")
    assert text_file.parse_toml(text, path, "settings") == {"run": {"baseline": "x"}}
