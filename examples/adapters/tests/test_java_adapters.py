"""The adapters in Java, built by `make test-oms`: one with a stub driver, two for RocketMQ 5.5.

What is known of RocketMQ is found, and nothing else: each case that is not passed stands here, and
docs/peers/openmessaging-rocketmq.md says why.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_process import wireproof

from wireproof_kit.bundle.file import read_bundle

JAVA = Path(__file__).resolve().parents[1] / "java"
DRIVER, ROCKETMQ = JAVA / "driver" / "target", JAVA / "rocketmq" / "target"
STUB = f"{DRIVER}/oms-adapter.jar:{DRIVER}/lib/*:{DRIVER}/test-classes"
# C1 and the serial collector: a JVM that lives for a minute starts in a third of the time.
FAST = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
MAIN = f"{ROCKETMQ}/rocketmq-adapter.jar:{ROCKETMQ}/lib/*", "wireproof.adapter.rocketmq.Main"
pytestmark = [pytest.mark.process]

REFUSED, EARLY, DELIVERED = "fail refused", "fail early", "fail delivered"
DROPPED = "fail dropped"
WAYS = ("sent", "again", "committed", "second-group")
WITHOUT_PRIORITY = (
    "committed+again+chosen-partition+priority+separators-in-name+large-body+unsettled",
    "committed+correlation-id+priority+expire-time+long-texts+separators+odd-body+beside-others",
    "committed+message-key+priority+odd-texts+gzip+sets-all+unsettled",
    "again+partitions+delay+correlation-id+priority+long-texts+separators-in-name+gzip+sets-all"
    "+one-by-one",
    "message-key+priority+expire-time+long-texts+named-as-attribute+beside-others",
    "second-group+message-key+trace-id+priority+other-script+large-body+gzip+unsettled",
)
"""Rows in which the priority is dropped; other rows with one are refused for another value."""
KNOWN = {
    "native": {
        "oms/delay/no-wrap/largest": DELIVERED,
        "oms/partition/unknown/minus-one": "fail replaced",
        "oms/priority/not-folded/-1": "inconclusive refused",
        "oms/priority/not-folded/-2147483648": "inconclusive refused",
        "oms/priority/outside/-1": REFUSED,
        "oms/priority/outside/-2147483648": REFUSED,
        "oms/priority/order": "fail unordered",
        **{f"oms/round-trip/{case}": DROPPED for case in (f"together/{way}" for way in WAYS)},
        **{f"oms/ways/unchanged/{row}": DROPPED for row in WITHOUT_PRIORITY},
        "oms/store/after-send": "fail absent",
    },
    "openmessaging": {
        **{f"oms/delay/not-early/{delay}": EARLY for delay in (1000, 1330, 1660)},
        **{
            f"oms/delay/no-wrap/{delay}": DELIVERED
            for delay in (
                *("above-16-bits", "above-31-bits", "above-32-bits"),
                *("two-years", "above-53-bits", "largest"),
            )
        },
        "oms/delay/not-early/1000/second-group": EARLY,
        **{
            f"oms/delay/no-wrap/{delay}/second-group": DELIVERED
            for delay in ("above-16-bits", "two-years")
        },
        "oms/expire/base": "inconclusive not-enforced",
        "oms/expire/base/second-group": "inconclusive not-enforced",
        "oms/expire/discarded/400/second-group": DELIVERED,
        "oms/expire/discarded/400": DELIVERED,
        "oms/expire/discarded/1300": DELIVERED,
        **{
            f"oms/expire/discarded/beside/{beside}": DELIVERED
            for beside in ("priority", "texts", "delay", "priority/second-group")
        },
        "oms/priority/order": "fail unordered",
        "oms/round-trip/properties/nothing-added": "fail added",
        "oms/round-trip/properties/unusual/empty": DROPPED,
        "oms/store/after-send": "fail absent",
    },
}
FOLLOWED = {"native": {"oms/delivery-count/base": "zero"}, "openmessaging": {}}


@pytest.fixture(scope="module")
def name_server() -> Iterator[str]:
    """A name server and a broker in one process; the address of the name server."""
    command = ["java", *FAST.split(), "-cp", *MAIN, "server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        yield server.stdout.readline().decode().strip()
        server.stdin.close()
        server.wait()


def rocketmq(kind: str, name_server: str) -> str:
    return f"java {FAST} -cp {' '.join(MAIN)} {kind} --name-server {name_server}"


def test_any_driver_is_loaded_by_its_url_and_judged(tmp_path: Path) -> None:
    claims = "storeTimestamp,storeHost,correlationId,messageKey,traceId,transactionId,transaction"
    command = (
        f"java {FAST} -cp {STUB} wireproof.adapter.driver.Main oms:stub://localhost:80/test "
        f"--group-key GROUP --claims {claims}"
    )
    assert wireproof("adapter", "check", command).code == 0
    done = wireproof("run", f"oms+exec:{command}", "oms", cwd=tmp_path)
    assert done.code == 0, done.out + done.err


@pytest.mark.parametrize("kind", KNOWN)
def test_the_adapters_of_rocketmq_keep_the_protocol(kind: str, name_server: str) -> None:
    done = wireproof(
        "adapter", "check", rocketmq(kind, name_server), OMS_RMQ_DIRECT_NAME_SRV="true"
    )
    assert done.code == 0, done.out


@pytest.mark.parametrize("kind", KNOWN)
def test_every_known_deviation_of_rocketmq_is_found_and_no_other(
    kind: str, name_server: str, tmp_path: Path
) -> None:
    bundle = tmp_path / "run.jsonl"
    done = wireproof(
        *("run", f"oms+exec:{rocketmq(kind, name_server)}", "oms", "--profile", "observed"),
        *("-n", "2", "--bundle", str(bundle)),
        cwd=tmp_path,
        OMS_RMQ_DIRECT_NAME_SRV="true",
    )
    assert done.code == 1, done.out + done.err
    cases = read_bundle(bundle).cases
    found = {
        each.case: f"{each.verdict} {each.observation}"
        for each in cases
        if each.verdict not in ("pass", "unsupported", "reading")
    }
    assert found == KNOWN[kind]
    followed = {each.case: each.observation for each in cases if each.verdict == "reading"}
    assert followed == FOLLOWED[kind]
