"""What is to be installed can be, wherever wireproof itself came from."""

import re
import shutil
import sys

import pytest

from wireproof_spec import extras
from wireproof_spec.extras import install_command


@pytest.mark.parametrize(
    ("extra", "package"), [("pcap", "scapy"), ("allure", "allure-pytest"), ("spark", "pyarrow")]
)
def test_an_extra_is_named_by_its_packages(extra: str, package: str) -> None:
    command = install_command(extra)

    assert "pip install " in command
    assert f"{package}" in command
    assert "wireproof" not in command.partition("pip install ")[2]


@pytest.mark.parametrize(
    ("pip", "uv", "told"),
    [
        (True, True, r"pip install [^-&]*"),
        (False, True, r"uv pip install [^&]* --python PYTHON"),
        (False, False, r"PYTHON -m ensurepip && PYTHON -m pip install [^&]*"),
    ],
)
def test_the_command_is_one_that_this_python_has(
    pip: bool, uv: bool, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An environment that uv made has no pip."""
    monkeypatch.setattr(extras, "find_spec", lambda name: object() if pip else None)
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/uv" if uv else None)
    monkeypatch.setattr(sys, "executable", "PYTHON")

    assert re.fullmatch(told, install_command("pcap"))
