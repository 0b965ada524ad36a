"""Never falsely green: hostile, dead and wrong targets, through the command line.

Each run must end soon, with exit code 1, 2 or 3, in bounded memory and without a traceback.
"""

import os
import re
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from bad_line import BadLine
from cli_forks import run_forked
from cli_process import Done, clean_environment
from liars import LIARS
from scripted_peer import Script, ScriptedPeer
from waits import Stopwatch

from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.fuzz.campaign.target import start_alone
from wireproof_kit.protocols import read_target
from wireproof_kit.runner.patience import machine_load

pytestmark = [pytest.mark.process, pytest.mark.long]

ENDS_WITHIN_S = 40.0
"""How long a run may last against a target that satisfies no wait, on a machine that is idle."""
MEMORY_BYTES = 3 * 1024**3


def wireproof(*arguments: str, folder: Path) -> Done:
    done = Done(*run_forked(arguments, folder, clean_environment(), MEMORY_BYTES))
    assert "Traceback" not in done.err + done.out
    return done


SAYS = {
    "silent": "leaves IDENTIFY without an answer",
    "closes-at-once": "does not answer IDENTIFY (seen: the connection closed without an answer)",
    "resets-at-once": "does not answer IDENTIFY (seen: the connection closed without an answer)",
    "refuses-everything": "does not answer IDENTIFY (seen: error E_INVALID)",
    "http": "answers in HTTP",
    "garbage": "answers IDENTIFY with 2,048 bytes that do not complete a frame",
    "endless-garbage": "does not speak NSQ",
    "endless-frame": "does not speak NSQ",
    "ok-to-everything": "NOT CONFORMANT",
    "endless-frames": "NOT CONFORMANT",
    "half-a-broker": "NOT CONFORMANT",
    "classic-nsqd": "UNDECIDED",
    "no-topic-can-be-created": "UNDECIDED",
}
"""What the kit says of each target."""
SELECTED = {
    "endless-frames": (
        "ext.publish.trace-response",
        "ext.publish.error-bad-topic",
        "ext.publish.mpub-ext",
    )
}
"""A flood costs processor time for as long as the kit has patience: three clauses are enough, of
what is answered, refused, and published as a batch."""


@pytest.mark.parametrize("name", LIARS)
def test_a_target_that_lies_or_sulks_ends_soon_and_is_never_green(
    name: str, tmp_path: Path
) -> None:
    with ScriptedPeer(LIARS[name]) as peer:
        host, port = peer.address
        url = f"nsq://{host}:{port}?http=127.0.0.1:{port}"
        watch = Stopwatch()
        ended = wireproof("run", url, *SELECTED.get(name, ("ext",)), folder=tmp_path)
    seconds = watch.seconds()
    print(f"{name:<25}{seconds:6.1f} s   exit {ended.code}   {SAYS[name]}")
    assert ended.code in (1, 2, 3), ended
    assert SAYS[name] in ended.out + ended.err
    assert seconds < ENDS_WITHIN_S * machine_load()


def test_a_bad_line_makes_nothing_red(tmp_path: Path) -> None:
    """300 ms there and back, and one piece in fifty resets the connection."""
    selected = os.environ.get("WIREPROOF_BAD_LINE", "ext.subscribe")
    with closing(start_alone("nsq")) as broker:
        target = read_target(broker.url)
        line = BadLine((target.host, target.port), delay_s=0.3, resets=0.02, seed=1)
        url = f"nsq://127.0.0.1:{line.port}?http={target.http}"
        watch = Stopwatch()
        ended = wireproof("run", url, selected, "--bundle", "b.jsonl", folder=tmp_path)
        line.close()
    cases = read_bundle(tmp_path / "b.jsonl").cases
    verdicts = Counter(record.verdict for record in cases)
    told = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items())
    print(f"bad-line {selected:<16}{watch.seconds():6.1f} s   exit {ended.code}   {told}")
    assert not verdicts.keys() & {"fail", "error"}
    assert verdicts["pass"] > verdicts["inconclusive"]


@pytest.mark.parametrize("script", LIARS.values(), ids=LIARS)
def test_a_single_case_against_a_hostile_target_is_never_green(
    script: Script, tmp_path: Path
) -> None:
    with ScriptedPeer(script) as peer:
        url = f"nsq://{peer.address[0]}:{peer.address[1]}"
        case = "nsq/consume/body/every-byte"
        ended = wireproof("run", url, case, "--timeout", "0.3", folder=tmp_path)
    assert ended.code in (1, 2, 3), ended
    assert "selects no case" not in ended.err


SENTENCES: dict[str, tuple[Callable[[], list[str]], str]] = {
    "no-target": (lambda: ["run"], "--reference"),
    "empty-url": (lambda: ["run", ""], "empty"),
    "dead-port": (lambda: ["run", "nsq://127.0.0.1:1"], "refused"),
    "no-port": (lambda: ["run", "nsq://127.0.0.1"], "port"),
    "unknown-protocol": (lambda: ["run", "nqs://127.0.0.1:1"], "nsq://"),
    "unknown-key": (lambda: ["run", "nsq://127.0.0.1:1?htp=x"], "htp"),
    "unknown-host": (lambda: ["run", "nsq://no-such-host.invalid:4150"], "no-such-host"),
    "typo-in-id": (lambda: ["run", "--reference", "nsq/publsh"], "nsq/publish"),
    "typo-in-clause": (lambda: ["run", "--reference", "ext.publsh"], "ext.publish"),
    "untested-clause": (lambda: ["run", "--reference", "ext.client.identify"], "not for brokers"),
    "all-excluded": (
        lambda: [
            *("run", "--reference", "--exclude", "nsq", "--exclude", "iggy", "--exclude", "oms"),
        ],
        "excluded",
    ),
    "typo-in-option": (lambda: ["run", "--reference", "--profil", "must"], "--profile"),
    "wrong-profile": (lambda: ["run", "--reference", "--profile", "most"], "most"),
    "typo-in-command": (lambda: ["rnu"], "run"),
    "missing-baseline": (lambda: ["run", "--reference", "--baseline", "none.toml"], "none.toml"),
    "missing-data": (lambda: ["run", "nsq://127.0.0.1:1", "--data", "none"], "none"),
    "wrong-claim": (lambda: ["run", "--reference", "--claim", "wings=true"], "wings"),
    "missing-bundle": (lambda: ["judge", "none.jsonl"], "none.jsonl"),
    "wrong-hex": (lambda: ["decode", "zz"], "zz"),
    "unknown-id": (lambda: ["explain", "ext.publish.header-jsn"], "ext.publish.header-json"),
    "unknown-fault": (lambda: ["serve", "nsq", "--fault", "none"], "none"),
}


@pytest.mark.parametrize(("arguments", "words"), SENTENCES.values(), ids=SENTENCES)
def test_bad_input_is_one_sentence_and_exit_2(
    arguments: Callable[[], list[str]], words: str, tmp_path: Path
) -> None:
    ended = wireproof(*arguments(), folder=tmp_path)
    assert ended.code == 2, ended
    assert words in ended.err
    assert len(re.findall(r"\S[^\n]*\n", ended.err)) <= 3, ended.err
