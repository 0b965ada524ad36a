"""docs/licences.md names what the lock names, and never less than what is installed says."""

from pathlib import Path

import pytest
from tool_modules import ROOT, load_tool

licences = load_tool("tools/licences.py")
PAGE = (ROOT / "docs" / "licences.md").read_text("utf-8")


def test_the_page_is_that_of_the_lock() -> None:
    """Packages that are not installed here keep the licence that the page states."""
    assert licences.page(licences.installed(PAGE)) == PAGE
    assert licences.UNKNOWN not in PAGE


def test_only_scapy_is_under_the_gpl_and_only_an_extra_needs_it() -> None:
    sections = PAGE.split("\n## ")
    (found,) = [section for section in sections if "GPL" in section.replace("LGPL", "")]

    assert found.startswith("With the extra `pcap`")
    assert found.count("GPL") == 1
    assert "| scapy |" in found


def test_a_package_that_states_no_licence_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(licences, "PAGE", tmp_path / "licences.md")
    monkeypatch.setattr(licences, "installed", lambda _: {})

    assert licences.main() == 1

    assert "licences.md: | click | " in capsys.readouterr().err
