"""`make release`: what keeps a commit from being released, and what a release consists of."""

import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from tool_modules import load_tool

from wireproof_kit.version import KIT_VERSION

RELEASED = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n## [1.2.3] - 2026-11-29\n\n- First.\n"


@pytest.fixture
def release() -> ModuleType:
    return load_tool("tools/release.py")


def test_the_changelog_has_the_version_as_its_newest_section(release: ModuleType) -> None:
    assert list(release.judge_changelog(RELEASED, "1.2.3")) == []


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (RELEASED.replace("Added\n", "Added\n\n- New.\n"), "entries under [Unreleased]"),
        (RELEASED.replace("1.2.3", "1.2.2"), "is [1.2.2] - 2026-11-29, not [1.2.3]"),
        (RELEASED.replace(" - 2026-11-29", ""), "not [1.2.3] with a date"),
        ("# Changelog\n", "does not begin with a section [Unreleased]"),
    ],
)
def test_another_changelog_is_refused(release: ModuleType, text: str, part: str) -> None:
    (objection,) = release.judge_changelog(text, "1.2.3")

    assert part in objection


def test_every_file_that_states_the_version_states_this_one(
    release: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "git", lambda *_: "")  # the tree of a developer is not clean
    assert release.read_version() == KIT_VERSION
    assert not [each for each in release.find_objections(KIT_VERSION) if "state" in each]
    assert len([each for each in release.find_objections("99") if "does not state" in each]) == 4


def test_a_changed_tree_and_a_tag_that_exists_are_refused(
    release: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        release, "git", lambda *arguments: " M a\n M b" if "status" in arguments else "v1"
    )
    monkeypatch.setattr(release, "build", None)

    assert release.main([]) == 1

    said = capsys.readouterr().err
    assert "2 files are not committed" in said
    assert f"the tag v{KIT_VERSION} exists already" in said


def test_two_builds_that_differ_write_nothing(
    release: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build_once(commit: str, place: Path, umask: int) -> list[Path]:
        place.mkdir()
        (place / "a.whl").write_text(str(umask))
        return [place / "a.whl"]

    monkeypatch.setattr(release, "build_once", build_once)

    assert release.build("HEAD", tmp_path / "dist") == 1
    assert not (tmp_path / "dist").exists()


def test_alike_builds_are_listed_and_summed(
    release: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel, sdist = tmp_path / "a.whl", tmp_path / "a.tar.gz"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("wireproof/py.typed", "")
    with tarfile.open(sdist, "w:gz") as source:
        source.add(__file__, "a/test.py")
    monkeypatch.setattr(release, "build_once", lambda *_: [sdist, wheel])
    out = tmp_path / "dist"

    assert release.build("0123", out) == 0

    assert "         0  wireproof/py.typed\n" in (out / release.CONTENTS).read_text()
    lines = [line.split("  ") for line in (out / release.SUMS).read_text().splitlines()]
    assert {name: release.digest(out / name) for _, name in lines} == {n: s for s, n in lines}
    assert {name for _, name in lines} == {"a.whl", "a.tar.gz", release.CONTENTS}
