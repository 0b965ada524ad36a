"""Apache Iggy's own SDKs, through their drivers: against the reference, and judged."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from driven_sdk import ApacheServer, DrivenSdk, apache_server, in_base64
from explained_failures import SDKS_PAGE, read_explained
from iggy_sdk_drivers import SDKS

from wireproof_kit.bundle.file import read_bundle

pytestmark = [pytest.mark.process, pytest.mark.long]

PAYLOADS = (b"one", "zwei ä".encode(), b"\x00\xff")
NUMBER = (1 << 100) + 1
HEADERS = {
    "raw": {"kind": "raw", "value": in_base64(b"\x00\xff")},
    "text": {"kind": "string", "value": in_base64("ä".encode())},
    "yes": {"kind": "bool", "value": in_base64(b"\x01")},
    "less": {"kind": "int64", "value": in_base64(b"\xff" * 8)},
    "most": {"kind": "uint128", "value": in_base64(b"\xff" * 16)},
    "half": {"kind": "float64", "value": in_base64(b"\x00" * 6 + b"\xe0\x3f")},
}


@pytest.fixture
def server() -> Iterator[ApacheServer]:
    with apache_server() as running:
        yield running


@pytest.fixture(params=["tcp", "http"])
def sdk(driver: str, server: ApacheServer, request: pytest.FixtureRequest) -> Iterator[DrivenSdk]:
    """The driver of an SDK over a transport that the SDK knows."""
    with DrivenSdk(driver) as running:
        if request.param not in running.greeting["claims"]:
            pytest.skip(f"the SDK does not know {request.param}")
        running.open(server, request.param)
        yield running


def offsets(sdk: DrivenSdk, strategy: str, count: int = 10, **fields: object) -> list[int]:
    return [int(each["offset"]) for each in sdk.poll(strategy, count, **fields)]


@pytest.mark.parametrize("driver", SDKS, indirect=True)
def test_a_whole_session(sdk: DrivenSdk) -> None:
    first = {"payload": in_base64(PAYLOADS[0]), "headers": HEADERS}
    others = [{"payload": in_base64(each)} for each in PAYLOADS[1:]]

    (confirmed,) = sdk.do("send", messages=[first, *others])["confirmations"]
    assert (confirmed["partition"], confirmed["base_offset"]) == (0, "0")
    found = sdk.poll("offset", value="0")
    assert [each["payload"] for each in found] == [in_base64(each) for each in PAYLOADS]
    assert [each["headers"] for each in found] == [HEADERS, {}, {}]
    assert len({each["id"] for each in found}) == len(PAYLOADS)
    assert offsets(sdk, "first", 2) == [0, 1]
    assert offsets(sdk, "last", 2) == [1, 2]
    assert offsets(sdk, "timestamp", value="0") == [0, 1, 2]
    assert offsets(sdk, "offset", value="9") == []
    assert offsets(sdk, "next", 2, auto_commit=True) == [0, 1]
    assert offsets(sdk, "next") == [2]


@pytest.mark.parametrize("driver", SDKS, indirect=True)
def test_partitions_are_chosen_as_the_pages_say(sdk: DrivenSdk) -> None:
    def partition(kind: str, value: bytes = b"") -> int:
        how = {"kind": kind, "value": in_base64(value)}
        done = sdk.do("send", messages=[{"payload": "YQ=="}], partitioning=how)
        number: int = done["confirmations"][0]["partition"]
        return number

    assert partition("partition_id", b"\x02\x00\x00\x00") == 2
    assert [partition("messages_key", key) for key in (b"a", b"key-1")] == [0, 1]
    assert sorted(partition("balanced") for _ in range(3)) == [0, 1, 2]


@pytest.mark.parametrize("driver", SDKS, indirect=True)
def test_refusals_are_told_and_the_client_goes_on(sdk: DrivenSdk) -> None:
    elsewhere = {"kind": "partition_id", "value": in_base64(b"\x09\x00\x00\x00")}

    refused = sdk.ask("send", messages=[{"payload": "YQ=="}], partitioning=elsewhere)
    assert refused["error"]["message"]
    assert sdk.ask("create_stream", name="s")["error"]["message"]
    assert sdk.do("create_stream", name="another").get("name", "another") == "another"
    assert sdk.poll("first") == []


@pytest.mark.parametrize("driver", SDKS, indirect=True)
def test_an_id_is_kept_over_tcp(driver: str, server: ApacheServer) -> None:
    with DrivenSdk(driver) as sdk:
        sdk.open(server, "tcp")
        sdk.do("send", messages=[{"payload": "YQ==", "id": str(NUMBER)}])
        assert [each["id"] for each in sdk.poll("first")] == [str(NUMBER)]


@pytest.mark.parametrize("driver", SDKS, indirect=True)
def test_judged(driver: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    sdk = request.node.callspec.params["driver"]
    bundle = tmp_path / "run.jsonl"
    words = ["--protocol", "iggy", "--generation", "apache", "--exec", driver, "--profile", "may"]
    done = subprocess.run(
        [sys.executable, "-m", "wireproof", "client", *words, "-n", "2", "--bundle", str(bundle)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1, 3), done.stderr
    cases = read_bundle(bundle).cases
    passed = {case.case for case in cases if case.verdict == "pass"}
    explained = read_explained(sdk, SDKS_PAGE)
    failed = {case.case for case in cases if case.verdict == "fail"}
    assert passed
    assert failed - explained == set()
    assert explained & passed == set()
