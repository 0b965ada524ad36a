"""Configuration: file, environment, precedence, and a sentence for every slip."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from wireproof.options.config import TABLES, Settings, read_settings
from wireproof.running.request import check_kit
from wireproof_kit.errors import UsageFault
from wireproof_kit.version import KIT_VERSION

WHOLE = """
[target]
url = "nsq://127.0.0.1:4150"
http = "http://127.0.0.1:4151"
lookupd = ["http://127.0.0.1:4161", "http://127.0.0.1:4163"]
data = "queue"
reset = "make reset-broker"
[claims]
ext = true
order = false
trace = "probe"
[run]
profile = "should"
reading = "published"
baseline = "deviations.toml"
[reports]
bundle = "out/run.jsonl"
junit = "out/junit.xml"
html = "/abs/report.html"
allure = "out/allure"
pcap = "out/captures"
"""


def read(folder: Path, **environment: str) -> Settings:
    return read_settings(None, folder=folder, environment=environment)


def test_every_key_is_read(tmp_path: Path) -> None:
    (tmp_path / "wireproof.toml").write_text(WHOLE)

    settings = read(tmp_path)

    assert settings.found is not None
    assert settings.found.path == tmp_path / "wireproof.toml"
    assert replace(settings, found=None) == Settings(
        url="nsq://127.0.0.1:4150",
        keys=(
            ("http", "http://127.0.0.1:4151"),
            ("lookupd", "http://127.0.0.1:4161"),
            ("lookupd", "http://127.0.0.1:4163"),
            ("data", str(tmp_path / "queue")),
        ),
        reset="make reset-broker",
        claims={"ext": "true", "order": "false", "trace": "probe"},
        profile="should",
        reading="published",
        baseline=str(tmp_path / "deviations.toml"),
        bundle=str(tmp_path / "out/run.jsonl"),
        junit=str(tmp_path / "out/junit.xml"),
        html="/abs/report.html",
        allure=str(tmp_path / "out/allure"),
        pcap=str(tmp_path / "out/captures"),
    )


def test_without_a_file_nothing_is_set(tmp_path: Path) -> None:
    assert read(tmp_path) == Settings()


def test_pyproject_holds_it_too(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "x"\n[tool.wireproof.run]\nprofile = "may"\n'
    )

    assert read(tmp_path).profile == "may"


def test_a_pyproject_of_another_kind_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n')

    assert read(tmp_path) == Settings()


def test_the_own_file_stands_above_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.wireproof.run]\nprofile = "may"\n')
    (tmp_path / "wireproof.toml").write_text('[run]\nprofile = "should"\n')

    assert read(tmp_path).profile == "should"


def test_the_environment_stands_above_the_file(tmp_path: Path) -> None:
    (tmp_path / "wireproof.toml").write_text('[run]\nprofile = "should"\nreading = "deployed"\n')

    settings = read(tmp_path, WIREPROOF_PROFILE="may", WIREPROOF_LOOKUPD="a:1,b:2")

    assert settings.profile == "may"
    assert settings.reading == "deployed"
    assert settings.keys == (("lookupd", "a:1"), ("lookupd", "b:2"))


def test_another_url_in_the_environment_forgets_the_files_target(tmp_path: Path) -> None:
    (tmp_path / "wireproof.toml").write_text(WHOLE)

    settings = read(tmp_path, WIREPROOF_URL="nsq://10.0.0.1:4150")

    assert settings.url == "nsq://10.0.0.1:4150"
    assert (settings.keys, settings.reset) == ((), None)
    assert settings.profile == "should"


def test_an_empty_url_stays_empty(tmp_path: Path) -> None:
    (tmp_path / "wireproof.toml").write_text(WHOLE)

    assert read(tmp_path, WIREPROOF_URL="").url == ""


def test_a_named_file_is_read_wherever_it_lies(tmp_path: Path) -> None:
    place = tmp_path / "ci" / "wireproof.toml"
    place.parent.mkdir()
    place.write_text('[run]\nbaseline = "known.toml"\n')

    by_option = read_settings(place, folder=tmp_path, environment={})
    by_variable = read(tmp_path, WIREPROOF_CONFIG=str(place))

    assert by_option.baseline == by_variable.baseline == str(place.parent / "known.toml")


def test_variables_of_others_are_let_be(tmp_path: Path) -> None:
    assert read(tmp_path, WIREPROOF_PUBLISHED="/texts", PATH="/bin") == Settings()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[run]\nprofil = 'must'", "[run] profil is no known key; did you mean 'profile'?"),
        ("[target]\nuri = 'x'", "[target] uri is no known key; did you mean 'url'?"),
        ("[targets]\nurl = 'x'", "[targets] is no known table; did you mean 'target'?"),
        (
            "[reports]\nspark = 'x'",
            "[reports] spark is no known key; known: bundle, junit, html, allure, pcap",
        ),
        ("url = 'x'", "[url] is no known table"),
        ("run = 3", "'run' expected to be a table"),
        ("[run]\nprofile = 'most'", "expected one of must, should, may, observed; found 'most'"),
        (
            "[run]\norigin = 'text, observed'",
            "or some of them, separated by commas; found 'observed'",
        ),
        ("[run]\nprofile = 3", "[run] profile expected a text in quotes; found 3"),
        ("[target]\nurl = ['a']", "[target] url expected a text in quotes; found a list"),
        ("[target]\nlookupd = [1]", "[target] lookupd expected a text in quotes; found 1"),
        ("[claims]\next = 'yes'", "[claims] ext expected true, false or \"probe\"; found 'yes'"),
        ("[run", "cannot be read as TOML"),
        ("\udcff", "expected UTF-8"),
    ],
)
def test_a_slip_in_the_file_is_named(tmp_path: Path, text: str, sentence: str) -> None:
    place = tmp_path / "wireproof.toml"
    place.write_bytes(text.encode("utf-8", "surrogateescape"))

    with pytest.raises(UsageFault) as caught:
        read(tmp_path)

    assert sentence in str(caught.value)
    assert str(place) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("WIREPROOF_PROFIL", "must", "did you mean WIREPROOF_PROFILE?"),
        ("WIREPROOF_BASLINE", "x", "did you mean WIREPROOF_BASELINE?"),
        ("WIREPROOF_PROFILE", "most", "expected one of must, should, may, observed; found 'most'"),
    ],
)
def test_a_slip_in_the_environment_is_named(
    tmp_path: Path, name: str, value: str, sentence: str
) -> None:
    with pytest.raises(UsageFault) as caught:
        read(tmp_path, **{name: value})

    assert sentence in str(caught.value)


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="does not exist"):
        read_settings(tmp_path / "none.toml", folder=tmp_path, environment={})


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="cannot be read"):
        read_settings(tmp_path, folder=tmp_path, environment={})


def test_the_page_lists_every_key() -> None:
    page = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text("utf-8")
    listed = re.findall(r"^\| `\[(\w+)\]` `(\w+)` \|", page, re.MULTILINE)

    known = [(table, key) for table, keys in TABLES.items() for key in keys]
    assert sorted(listed) == sorted([*known, ("claims", "NAME")])


def test_a_law_and_a_kit_are_pinned(tmp_path: Path) -> None:
    (tmp_path / "wireproof.toml").write_text('[run]\nspec_rev = 2\nkit = "0"\n')
    pinned = read(tmp_path)
    assert (pinned.spec_rev, read(tmp_path, WIREPROOF_SPEC_REV="3").spec_rev) == ("2", "3")
    check_kit(pinned)
    check_kit(Settings(kit=KIT_VERSION))
    for other in ("9.9", f"{KIT_VERSION}1"):
        with pytest.raises(UsageFault, match="judge LAST-BUNDLE --changes-only"):
            check_kit(Settings(kit=other))


@pytest.mark.parametrize("value", ["0", '"x"', '"-1"', "true", "1.5"])
def test_a_revision_is_a_number_from_one(tmp_path: Path, value: str) -> None:
    (tmp_path / "wireproof.toml").write_text(f"[run]\nspec_rev = {value}\n")
    with pytest.raises(UsageFault, match=r"\[run\] spec_rev expected a"):
        read(tmp_path)
