import importlib.util

import cli_bundle as made
import pytest

from wireproof_kit.bundle import captures as captures_module
from wireproof_kit.bundle.captures import captures

PCAPNG = bytes.fromhex("0a0d0d0a")


def test_a_failing_case_has_a_capture() -> None:
    record = next(record for record in made.failing() if record.observation == made.ODD)
    capture = captures()(made.header(), record)

    assert capture is not None
    assert capture.startswith(PCAPNG)
    assert b"PUB wp_ab_1 0\n\0\0\0\1x" in capture


@pytest.mark.parametrize("missing", ["wireproof_kit.nowhere.capture:of", "nowhere.at.all:of"])
def test_without_what_makes_them_there_is_none(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captures_module, "CAPTURE", missing)

    assert captures()(made.header(), next(made.conforming())) is None


def test_without_the_extra_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_spec(name: str) -> None:
        assert name == "scapy"

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)

    assert captures()(made.header(), next(made.conforming())) is None
