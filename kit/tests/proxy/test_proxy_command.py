"""``wireproof proxy`` as a process: where it stands, what it writes, how it ends."""

import json
import re
import resource
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGINT, SIGTERM, Signals

import pytest
from cli_process import clean_environment, wireproof
from jsonschema import Draft202012Validator
from scripted_peer import OK, Peer, ScriptedPeer

from wireproof.commands.bundles.schema import make_schema
from wireproof_spec.nsq.frame import response_frame

pytestmark = pytest.mark.process

PUB = b"PUB t 0\n\0\0\0\4body"


def polite(peer: Peer) -> None:
    """Answer IDENTIFY and one publish."""
    peer.exactly(13)
    peer.sized()
    peer.say(OK)
    peer.line()
    peer.sized()
    peer.say(OK)
    peer.rest()


def wrong(peer: Peer) -> None:
    """Answer the publish with another text."""
    peer.exactly(13)
    peer.sized()
    peer.say(OK)
    peer.line()
    peer.sized()
    peer.say(response_frame(b"FINE"))
    peer.rest()


@contextmanager
def running(*arguments: str) -> Generator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "wireproof", "proxy", *arguments]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean_environment(),
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def publish(address: str) -> None:
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port))) as sock:
        sock.sendall(b"  V2IDENTIFY\n\0\0\0\2{}")
        assert sock.recv(len(OK), socket.MSG_WAITALL) == OK
        sock.sendall(PUB)
        assert sock.recv(8, socket.MSG_WAITALL)
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(100):
            pass


def url_of(broker: ScriptedPeer) -> str:
    return f"nsq://127.0.0.1:{broker.address[1]}"


def end(process: subprocess.Popen[str], number: Signals = SIGINT) -> str:
    process.send_signal(number)
    out, _ = process.communicate()
    assert "Traceback" not in out
    return out


@pytest.mark.parametrize("number", [SIGINT, SIGTERM])
def test_ctrl_c_ends_with_a_summary_and_everything_is_written(
    tmp_path: Path, number: Signals
) -> None:
    bundle, capture = tmp_path / "seen.jsonl", tmp_path / "all.pcapng"
    capture.write_bytes(b"of an earlier proxy")
    written = ("--bundle", str(bundle), "--pcap", str(capture))
    with (
        ScriptedPeer(polite) as broker,
        running("--to", url_of(broker), *written) as process,
    ):
        assert process.stdout is not None
        address = process.stdout.readline().split()[1]
        publish(address)
        for line in process.stdout:
            if "closes" in line:
                break
        out = end(process, number)

    assert process.returncode == 0
    assert re.search(r"broker +MUST +smart\.partition\.publish +conforms 1", out)
    assert re.search(r"client +MUST +smart\.client\.handshake +conforms 1", out)
    assert out.rstrip().endswith("exit 0")
    again = wireproof("judge", str(bundle))
    assert again.code == 0
    assert "0 verdicts changed" in again.out
    assert PUB in capture.read_bytes()
    assert b"earlier" not in capture.read_bytes()
    case = "nsq/passing/smart.partition.publish"
    refused = wireproof("replay", case, "--bundle", str(bundle)).refused()
    assert "traffic that passed a proxy is not sent again" in refused
    assert (
        wireproof("explain", case).out == wireproof("explain", case.partition("passing/")[2]).out
    )


@pytest.mark.parametrize("to", ["nsq://{}", "nsq://?lookupd={}", "iggy://{}"])
def test_an_address_that_cannot_be_reached_is_told_at_the_start(to: str, dead_port: int) -> None:
    gone = f"127.0.0.1:{dead_port}"
    with running("--quiet", "--to", to.format(gone)) as process:
        assert process.stdout is not None
        listening, told = process.stdout.readline(), process.stdout.readline()
        end(process)

    assert f"stands before {gone}" in listening
    assert f"{gone} cannot be reached (connection refused); the proxy goes on" in told
    assert process.returncode == 2


def test_a_capture_may_lie_in_a_new_folder(tmp_path: Path) -> None:
    capture = tmp_path / "new" / "all.pcapng"
    with (
        ScriptedPeer(polite) as broker,
        running("--to", url_of(broker), "--pcap", str(capture)) as process,
    ):
        assert process.stdout is not None
        process.stdout.readline()
        end(process)

    assert capture.is_file()


def test_a_deviation_is_told_at_once_and_ends_with_exit_1(tmp_path: Path) -> None:
    bundle = str(tmp_path / "seen.jsonl")
    with (
        ScriptedPeer(wrong) as broker,
        running("--json", "--to", to := url_of(broker), "--bundle", bundle) as process,
    ):
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        publish(first["address"])
        events = map(json.loads, process.stdout)
        shown = [first]
        while shown[-1]["event"] != "deviation":
            shown.append(next(events))
        told = shown[-1]
        out = end(process)

    assert told["clause"] == "smart.partition.publish"
    assert told["what"] == "PUB is answered 'FINE'"
    verdict = json.loads(out.splitlines()[-1])
    schema = Draft202012Validator(make_schema("proxy"))
    for event in (*shown, *map(json.loads, out.splitlines())):
        schema.validate(event)
    assert (process.returncode, verdict["exit"]) == (1, 1)
    assert [each["clause"] for each in verdict["clauses"] if each["deviates"]] == [told["clause"]]
    assert "smart.trace.response" in verdict["not_seen"]
    again = wireproof("judge", bundle)
    assert f"traffic between clients and {to}" in again.out
    assert "broker MUST smart.partition.publish" in again.out
    assert "1 new cause (1 case): broker 1" in again.out


def test_what_was_seen_is_told_also_when_the_bundle_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "seen"
    folder.mkdir()
    with (
        ScriptedPeer(polite) as broker,
        running(
            "--to",
            url_of(broker),
            "--bundle",
            str(folder / "seen.jsonl"),
        ) as process,
    ):
        assert process.stdout is not None
        publish(process.stdout.readline().split()[1])
        for line in process.stdout:
            if "closes" in line:
                break
        folder.rmdir()
        folder.write_text("")
        out = end(process)

    assert process.returncode == 2
    assert re.search(r"broker +MUST +smart\.partition\.publish +conforms 1", out)
    assert "cannot be written" in out


def test_a_capture_on_a_full_disk_ends_neither_the_proxy_nor_its_verdicts(tmp_path: Path) -> None:
    capture = tmp_path / "all.pcapng"
    with (
        ScriptedPeer(polite) as broker,
        running("--to", f"nsq://127.0.0.1:{broker.address[1]}", "--pcap", str(capture)) as process,
    ):
        assert process.stdout is not None
        address = process.stdout.readline().split()[1]
        # No file of the process may grow any more.
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (100, 100))
        for _ in range(2):
            publish(address)
            for line in process.stdout:
                if "closes" in line:
                    break
        out = end(process)

    assert process.returncode == 2
    assert re.search(r"broker +MUST +smart\.partition\.publish +conforms 2", out)
    assert re.search(r"fault +(an output|--pcap)", out)


def test_a_proxy_that_saw_nothing_is_never_green() -> None:
    with running("--to", "nsq://127.0.0.1:9") as process:
        assert process.stdout is not None
        process.stdout.readline()
        out = end(process)

    assert process.returncode == 2
    assert "nothing passed that shows anything of a clause" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--to", "oms+http://127.0.0.1:8090"), "no proxy knows the protocol oms"),
        (("--to", "iggy://127.0.0.1:1", "--ordered", "t"), "iggy has no ordered topics"),
        (("--to", "nsq+client:true"), "expected the address of a broker, nsq://HOST:PORT"),
        (("--to", "nsq://127.0.0.1:1", "--listen", "nowhere"), "expected HOST:PORT"),
        (("--to", "nsq://127.0.0.1:1", "--listen", "::1:0"), "in brackets; write [::1]:0"),
        (
            ("--to", "nsq://127.0.0.1:1", "--listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"),
            "--listen is given 2 times, but --to names only nsqd",
        ),
        (("--to", "nsq://127.0.0.1:1", "--listen", "192.0.2.1:1"), "--listen 192.0.2.1:1"),
        (("--to", "nsq://127.0.0.1:1", "--bundle", "/dev/null/b"), "/dev/null is no folder"),
        (("--to", "nsq://127.0.0.1:1", "--pcap", "/dev/null/p"), "/dev/null is no folder"),
        (("--to", "nsq://127.0.0.1:1", "--pcap", "/dev"), "expected a file, found a folder"),
    ],
)
def test_bad_options_are_one_sentence(arguments: tuple[str, ...], told: str) -> None:
    assert told in wireproof("proxy", *arguments).refused()
