"""Campaigns against the example clients, and what is left of its finding without the kit."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from cli_process import clean_environment, wireproof
from client_fuzz_play import MESSAGE, case

from wireproof.main import main
from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.clients.effects import Effect
from wireproof_kit.errors import TargetUnreachable
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.clients.run import ClientRun
from wireproof_kit.fuzz.clients.session import open_fuzzed_client
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.client_rules import HOARDS, STUCK
from wireproof_kit.nsq.clients.driver_requests import Asking
from wireproof_kit.nsq.clients.fuzz import states
from wireproof_kit.nsq.clients.fuzz.part import make_part
from wireproof_kit.nsq.clients.fuzz.peers import CasePeers
from wireproof_kit.nsq.clients.fuzz.states import Situation
from wireproof_kit.processes import watch
from wireproof_kit.processes.client_forks import ClientForkServer
from wireproof_kit.protocols import read_target

pytestmark = [pytest.mark.process, pytest.mark.long]
FINDINGS = (
    ("nsq", "dies-inside-place", "ended", ("consumer", "consuming-ordered", "message ordered")),
    ("nsq", "believes-unknown-error", "not-given", ("producer", "publishing", "error")),
    ("nsq", "cuts-body-at-nul", "not-given", ("consumer", "consuming", "message")),
    ("iggy", "dies-of-headers", "ended", ("consumer", "polling", "polled messages")),
    ("iggy", "believes-length", "hoards", ("consumer", "polling", "error")),
    ("iggy", "reads-low-byte", "not-given", ("producer", "sending", "error")),
    ("iggy", "stays-broken", "stuck", ("consumer", "polling", "polled messages")),
)[:: 1 if os.environ.get("WIREPROOF_FINDINGS") == "all" else 2]
"""Every second of them has each kind of finding; `make edges` tries all."""
TOY = Path(__file__).parents[1] / "support" / "toy_nsq_client.py"


def script(path: Path, command: str) -> int:
    return subprocess.run(
        [sys.executable, "-I", str(path), command],
        env=clean_environment(),
        capture_output=True,
        check=False,
        cwd=path.parent,
    ).returncode


ONE_CONNECTION = """
import os, socket, struct
def read(node, count):
    data = b""
    while len(data) < count:
        more = node.recv(count - len(data))
        if not more:
            raise SystemExit(0)
        data += more
    return data
host, port = os.environ["WIREPROOF_NSQD"].split(":")
with socket.create_connection((host, int(port))) as node:
    body = b"{}"
    node.sendall(b"  V2IDENTIFY\\n" + struct.pack(">i", len(body)) + body)
    topic, channel = os.environ["WIREPROOF_TOPIC"], os.environ["WIREPROOF_CHANNEL"]
    node.sendall(f"SUB {topic} {channel} 0\\nRDY 5\\n".encode())
    while True:
        data = read(node, struct.unpack(">i", read(node, 4))[0])
        if data[4:] == b"_heartbeat_":
            node.sendall(b"NOP\\n")
        elif data[:4] == b"\\0\\0\\0\\2":
            node.sendall(b"FIN " + data[14:30] + b"\\n")
"""


def test_a_consumer_with_one_connection_is_told_what_it_lacks(tmp_path: Path) -> None:
    program = tmp_path / "once.py"
    program.write_text(ONE_CONNECTION)
    target = read_target(f"nsq+client:{sys.executable} {program}", (("role", "consumer"),))

    with pytest.raises(TargetUnreachable) as raised:
        open_fuzzed_client(make_part(), target, None, lambda: False)

    told = str(raised.value).partition(" connected ")[2]
    assert told.startswith(
        "and worked as a consumer, but did not come back after the kit had ended its connection, "
        "and ended with exit code 0"
    )


@pytest.mark.parametrize(("protocol", "fault", "violated", "chosen"), FINDINGS)
def test_a_finding_is_small_named_and_shown_by_its_script_and_by_replay(
    protocol: str, fault: str, violated: str, chosen: Sequence[str], tmp_path: Path
) -> None:
    right = f"{sys.executable} -m wireproof_reference_impl.{protocol}.drive"
    options = ("--fault", f"parser-client-{fault}")
    faulty = " ".join((right, *options))
    role, state, frame = chosen
    with (
        ClientForkServer(protocol, str(tmp_path)) as clients,
        clients.reference(options) as forked,
    ):
        # A fork is not below the command, so that its memory is not counted as the command's.
        tried = faulty if violated == HOARDS else forked.partition(":")[2]
        done = wireproof(
            *("fuzz", "--protocol", protocol, "--exec", tried, "--role", role, "--states", state),
            *("--frames", frame, "--seed", "1", "--time", "900", "-x", "--no-shrink"),
            *("--bundle", "b.jsonl"),
            cwd=tmp_path,
        )
        assert done.code == 1, done.out + done.err
        (finding,) = read_bundle(tmp_path / "b.jsonl").findings
        reproducer = tmp_path / "b-findings" / f"{finding.id}.py"

        assert finding.violated == violated
        assert script(reproducer, faulty) == 0
        assert script(reproducer, right) == 1
        assert script(reproducer, "/no/such/client") == 2
        url = read_bundle(tmp_path / "b.jsonl").header.target.url
        there = ("replay", finding.id, "--bundle", "b.jsonl")
        again = wireproof(*there, "--to", url, cwd=tmp_path)
        assert again.code == 0, again.out + again.err
        assert "are not run unasked: give --to" in wireproof(*there, cwd=tmp_path).refused()


def test_states_that_a_client_does_not_show_are_told_and_cannot_be_chosen(tmp_path: Path) -> None:
    words = ("fuzz", "--exec", f"{sys.executable} {TOY}", "--role", "consumer", "--cases", "1")
    done = wireproof(*words, "--bundle", "b.jsonl", cwd=tmp_path)
    told = " ".join(done.out.split())
    refused = wireproof(*words, "--states", "consuming-ordered", cwd=tmp_path)

    assert done.code == 0, done.out + done.err
    assert "left out consuming-ordered, " in told
    assert "its driver does not support ordered" in told
    about = read_bundle(tmp_path / "b.jsonl").header.target.fingerprint
    assert "consuming-ordered" in about["not_tried"]
    assert "publishing" not in about["not_tried"]
    assert (refused.code, refused.err.splitlines()[-1]) == (
        2,
        "wireproof: --states consuming-ordered: no case can be tried in this state: "
        "its driver does not support ordered",
    )


@pytest.mark.parametrize(("wrong", "violated"), [("exits", []), ("dies", ["ended"])])
def test_a_client_may_end_when_it_is_refused_but_not_crash(
    wrong: str, violated: list[str], tmp_path: Path
) -> None:
    done = wireproof(
        *("fuzz", "--exec", f"{sys.executable} {TOY} {wrong}", "--role", "consumer"),
        *("--states", "subscribing", "--frames", "error", "--seed", "1", "--cases", "24"),
        *("--time", "900", "-x", "--no-shrink", "--bundle", "b.jsonl"),
        cwd=tmp_path,
    )

    assert done.code == bool(violated), done.out + done.err
    findings = read_bundle(tmp_path / "b.jsonl").findings
    assert [finding.violated for finding in findings] == violated


COMES_AND_WAITS = """
import os, socket
host, port = os.environ["WIREPROOF_NSQD"].split(":")
with socket.create_connection((host, int(port))) as node:
    node.sendall(b"  V2NOP\\n")
    node.makefile("rb").read()
"""


class ImpatientPeers(CasePeers):
    """Peers that call a client stuck at the third moment in which nothing happens."""

    def react_to_timer(self, token: object) -> Iterator[Effect]:
        yield from super().react_to_timer(token)
        if self.ticks == 3:
            self.trouble = Trouble(STUCK, "did not come back")


@pytest.mark.parametrize(("step", "violated"), [(40 << 20, HOARDS), (0, STUCK)])
def test_a_client_that_still_takes_memory_when_patience_ends_hoards(
    step: int, violated: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "waits.py"
    program.write_text(COMES_AND_WAITS)
    taken = count(0, step)
    monkeypatch.setattr(watch, "resident_bytes", lambda _: next(taken))

    def meet(client: Situation, cases: Sequence[Case], patience_s: float) -> CasePeers:
        asking = Asking(states.script(client), topic="t", channel="c")
        return ImpatientPeers(client, cases, asking, patience_s)

    tried = case(MESSAGE)
    part = replace(make_part(), meet=meet)
    client = part.client_of(tried)
    command = f"{sys.executable} {program}"

    trouble = ClientRun(part, command, client, [tried], 60.0, lambda: False).play().trouble

    assert trouble is not None
    assert trouble.violated == violated


def test_states_to_which_a_client_comes_too_rarely_are_left_out(tmp_path: Path) -> None:
    command = f"{sys.executable} {TOY} own-interval"
    words = ("fuzz", "--exec", command, "--role", "consumer", "--cases", "1")
    refused = wireproof(*words, "--states", "looking-up", cwd=tmp_path)

    assert refused.code == 2, refused.out + refused.err
    assert "after the case the client did not look up again within 15 s" in refused.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--exec", "x", "nsq://127.0.0.1:4150"], "found a URL, too"),
        (["--exec", "x", "--reference"], "found --reference, too"),
        (["--exec", "x", "--pid", "1"], "--pid cannot be used with a client"),
        (["--exec", "x {topc}"], "{topc} is unknown"),
        (["--exec", "x", "--protocol", "oms"], "oms"),
        (["--exec", "/no/such/client"], "cannot be started"),
        (["--exec", f"{sys.executable} -c pass", "--time", "60"], "before it connected"),
        (["--exec", "sleep 60", "--time", "1"], "the time was over before the target was ready"),
    ],
)
def test_what_cannot_be_fuzzed_is_told_in_one_sentence(
    arguments: Sequence[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["fuzz", *arguments]) == 2

    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("wireproof: ")
    assert told in last
