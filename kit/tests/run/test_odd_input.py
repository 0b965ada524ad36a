"""Odd host names, dates, names and readings end with one sentence, never as a fault of the kit."""

import os
from pathlib import Path

import hostile_bundles as hostile
import pytest

from wireproof.main import main

HOSTS = (
    "nsq://[zz]:1",
    "nsq://[::1:1",
    "nsq://a..b:1",
    f"nsq://{'x' * 70}.example:1",
    "nsq://\udcff:1",
    "nsq://[fe80::1%25lo]:1",
    "nsq://[fe80::1%lo]:1",
    "nsq://[::1%nosuch]:1",
    "nsq://127.0.0.1:1?http=a..b:2",
    "nsq://[::1]:1?http=[zz]:1",
    "nsq://?lookupd=a..b:1",
    "nsq://?lookupd=[::1:1",
    "iggy://a..b:1",
    "oms+http://a..b:1",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(told: str) -> None:
    assert "kit error" not in told
    assert "Traceback" not in told


@pytest.mark.process
@pytest.mark.parametrize("url", HOSTS)
@pytest.mark.parametrize("command", [("probe",), ("fuzz", "--cases", "1", "--hazardous")])
def test_an_odd_host_is_one_sentence(
    command: tuple[str, ...], url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, url]) == 2

    told = capsys.readouterr()
    check(told.out + told.err)
    assert len(told.err.strip().splitlines()) == 1


def _with_head(**fields: object) -> bytes:
    objects = hostile.whole()
    objects[0].update(fields)
    return hostile.sealed(objects)


UNKNOWN: dict[str, object] = {
    "reading": "none-such",
    "observation": "x",
    "transcript": {"steps": []},
}
BUNDLES: dict[str, dict[str, object]] = {
    "before-1970": {"started": "1905-01-01T00:00:00+00:00"},
    "reading": {"readings": {"no-such-decision": UNKNOWN, "order-command": UNKNOWN}},
}


@pytest.mark.parametrize("kind", ["html", "junit", "md", "statement", "allure", "pcap-all"])
@pytest.mark.parametrize("name", BUNDLES)
def test_an_odd_bundle_is_reported(
    name: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Path(os.fsdecode(b"n\xff.jsonl"))
    place.write_bytes(_with_head(**BUNDLES[name]))

    main(["report", str(place), f"--{kind}", "out"])

    told = capsys.readouterr()
    check(told.out + told.err)
