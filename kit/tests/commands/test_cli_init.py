"""`wireproof init`: what it writes is read by the kit and by the CI, and nothing is replaced."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from wireproof.commands.setup.init import CI, PLACES, Answers, Ci, make_files
from wireproof.main import main
from wireproof.options.config import read_settings
from wireproof.running.request import check_kit
from wireproof_kit.text_file import read_text

LOCAL, FAR = "nsq://127.0.0.1:4150?http=127.0.0.1:4151", "nsq://10.0.0.1:4150"
CLIENT = "nsq+client:./consume {topic}"
ODD = 'oms+exec:./adapter "a: b" # c'


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def variables(answers: Answers) -> dict[str, str]:
    """Return the variables of a CI file, and check that it can be read as what it is."""
    text = make_files(answers)[PLACES[answers.ci][1]]
    document = yaml.safe_load(text)
    if answers.ci == "github":
        return dict(document["jobs"]["conformance"]["env"])
    return dict(document["conformance"]["variables"])


@pytest.mark.parametrize("ci", CI)
def test_what_is_written_is_read_again(ci: Ci, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--url", LOCAL, "--profile", "should", "--ci", ci]) == 0

    out = capsys.readouterr().out
    settings = read_settings(Path("wireproof.toml"), folder=Path(), environment={})
    check_kit(settings)
    assert (settings.url, settings.profile) == (LOCAL, "should")
    assert settings.baseline == "deviations.toml"
    assert int(settings.spec_rev or 0) >= 3
    assert main(["baseline", "check", "deviations.toml"]) == 0
    assert "next: start your broker" in out
    assert all(f"wrote {name}\n" in out for name in make_files(Answers(LOCAL, "should", ci)))


@pytest.mark.parametrize("ci", ["github", "gitlab"])
@pytest.mark.parametrize("url", [LOCAL, FAR, ODD])
def test_a_ci_file_has_the_target_and_starts_only_what_is_on_its_machine(url: str, ci: Ci) -> None:
    found = variables(Answers(url, "should", ci))
    text = make_files(Answers(url, "should", ci))[PLACES[ci][1]]

    assert (found["BROKER_URL"], found["PROFILE"]) == (url, "should")
    assert ("BROKER" in found) == (url == LOCAL)
    assert text.count("wireproof serve") == text.count("kill ") == (url == LOCAL)


@pytest.mark.parametrize("url", [LOCAL, FAR, ODD])
def test_a_script_has_the_target(url: str) -> None:
    text = make_files(Answers(url, "may", "plain"))["conformance.sh"]

    assert f"BROKER_URL='{url}'\n" in text or f"BROKER_URL={url}\n" in text
    assert "PROFILE=may\n" in text
    assert ("wireproof serve" in text) == ("trap" in text) == (url == LOCAL)


@pytest.mark.parametrize("ci", ["github", "gitlab", "plain"])
def test_a_client_has_files_of_its_own(ci: Ci, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--url", CLIENT, "--profile", "should", "--ci", ci]) == 0

    out = capsys.readouterr().out
    text = read_text(Path(PLACES[ci][1]), "")
    assert "next: build your client, then run `wireproof client --config wireproof.toml" in out
    assert "roker" not in out
    assert "Conformance of a client" in text
    assert re.search(r"wireproof client \$SELECTION --profile [^|]*--config wireproof.toml", text)
    for word in ("doctor", "serve", "BROKER", "roker", "wireproof run"):
        assert word not in text
    if ci != "plain":
        assert set(variables(Answers(CLIENT, "should", ci))) == {
            "WIREPROOF",
            "PROFILE",
            "SELECTION",
        }
    role = '# role = "consumer"'
    settings = read_text(Path("wireproof.toml"), "")
    assert role in settings
    Path("wireproof.toml").write_text(settings.replace(role, role[2:]))
    read = read_settings(Path("wireproof.toml"), folder=Path(), environment={})
    assert (read.url, read.keys) == (CLIENT, (("role", "consumer"),))


def test_an_adapter_is_not_waited_for() -> None:
    assert "doctor" not in make_files(Answers(ODD, "must", "plain"))["conformance.sh"]


def test_a_reference_of_the_protocol_is_started() -> None:
    text = make_files(Answers("iggy://127.0.0.1:8090", "must", "github"))[PLACES["github"][1]]
    assert 'wireproof serve iggy --tcp "$BROKER" --http "$BROKER_HTTP"' in text
    assert "BROKER: 127.0.0.1:8090\n" in text
    assert "BROKER_HTTP: 127.0.0.1:8091\n" in text


def test_a_url_is_written_as_toml() -> None:
    settings = tomllib.loads(make_files(Answers(ODD, "must", "none"))["wireproof.toml"])
    assert settings["target"]["url"] == ODD


def test_nothing_is_replaced_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    Path("deviations.toml").write_text("# mine\n")
    words = ["init", "--url", LOCAL, "--profile", "must", "--ci", "none"]

    assert main(words) == 2
    assert "deviations.toml: already there; --force replaces" in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["deviations.toml"]
    assert main([*words, "--force"]) == 0
    assert "mine" not in read_text(Path("deviations.toml"), "")


def test_three_questions_are_asked_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def answer(what: str, **more: object) -> object:
        asked.append(what)
        return more["default"]

    monkeypatch.setattr("click.prompt", answer)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)

    assert main(["init"]) == 0
    assert len(asked) == 3
    assert "wrote wireproof.toml" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--no-input"], "give all three"),
        (["--url", "x", "--profile", "must", "--ci", "none"], "'x' is no URL of a target"),
        (["--url", "nsq:"], "did you mean nsq://127.0.0.1:4150?"),
        (["--url", LOCAL, "--profile", "must", "--ci", "travis"], "'--ci': 'travis'"),
    ],
)
def test_mistakes_get_one_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert not list(Path().iterdir())


def test_a_folder_that_cannot_be_written_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    Path(".github").write_text("")
    words = ["init", "--url", LOCAL, "--profile", "must", "--ci", "github"]

    assert main(words) == 2
    assert ".github/workflows/conformance.yml: cannot be written" in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == [".github"]
