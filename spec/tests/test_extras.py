"""What is to be installed can be, wherever wireproof itself came from."""

import pytest

from wireproof_spec.extras import install_command


@pytest.mark.parametrize(
    ("extra", "package"), [("pcap", "scapy"), ("allure", "allure-pytest"), ("spark", "pyarrow")]
)
def test_an_extra_is_named_by_its_packages(extra: str, package: str) -> None:
    command = install_command(extra)

    assert command.startswith("pip install ")
    assert f"{package}" in command
    assert "wireproof" not in command
