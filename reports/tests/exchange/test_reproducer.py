import ast
import re
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from bundle_fixture import URL, crash, failed, failures, header, http_header
from script_fixture import answer_all, broker, ran, subscribed
from wire_fixture import TOPIC, Exchange, ok, server_frame

from wireproof_reports.exchange.repeating import repeat_command
from wireproof_reports.exchange.reproducer import reproducer, script
from wireproof_spec.record import TargetRecord
from wireproof_spec.step_record import StepRecord, TranscriptRecord

pytestmark = pytest.mark.process

ALLOWED = (ast.Expr, ast.Import, ast.Assign, ast.FunctionDef, ast.If)
Serve = Callable[[socket.socket, list[bytes]], None]
HOSTILE = "x'''\"\"\"\\\n\r\u2028import os; os.abort()\n#"


def test_the_script_sends_the_same_and_prints_the_answers(tmp_path: Path) -> None:
    case = next(failures())
    with broker(answer_all) as (address, got):
        said = ran(tmp_path, script(case, header()), address)

    created = re.fullmatch(rb"  V2INTERNAL_CREATE_TOPIC (wp_[0-9a-f]{4}_4) 0 true\n", got[0])
    assert created
    assert created[1] != TOPIC, "what an earlier run left there must not come"
    sent = b"".join(step.data() for step in case.transcript.steps if step.kind == "send")
    assert b"".join(got[1:]) == sent.replace(TOPIC, created[1])
    assert said.count("same as recorded") == 1
    assert "recorded: 00 00 00 22" in said


def test_a_topic_of_ones_own_takes_the_place(tmp_path: Path) -> None:
    with broker(answer_all) as (address, got):
        ran(tmp_path, script(next(failures()), header()), address, "mine")

    whole = b"".join(got)
    assert b"PUB_EXT mine 0\n" in whole
    assert TOPIC not in whole
    assert b"INTERNAL_CREATE_TOPIC" not in whole


def test_ids_are_those_of_the_messages_that_come_now(tmp_path: Path) -> None:
    with broker(answer_all) as (address, got):
        ran(tmp_path, script(subscribed(), header()), address)

    whole = b"".join(got)
    assert b"FIN " + struct.pack(">QQ", 99, 0) + b"\n" in whole
    assert whole.count(b"NOP\n") == 1


def test_a_target_that_closes_is_told(tmp_path: Path) -> None:
    def close_after_magic(link: socket.socket, got: list[bytes]) -> None:
        got.append(link.recv(4))

    with broker(close_after_magic) as (address, _):
        said = ran(tmp_path, script(crash(65534), header()), address, "mine")

    assert "got no answer" in said
    assert "closed by the target" in said


def test_a_target_that_is_not_there_is_told(tmp_path: Path) -> None:
    said = ran(tmp_path, script(next(failures()), header()), "127.0.0.1:1")

    assert said.strip().splitlines()[-1].startswith("cannot reach ('127.0.0.1', 1)")


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_tells_what_it_does_and_sends_nothing(flag: str, tmp_path: Path) -> None:
    said = ran(tmp_path, script(next(failures()), header()), flag)

    assert "[HOST:PORT | HOST PORT] [NAME ...]" in said
    assert "Exit code: 0 the target does what was recorded" in said
    assert "connected" not in said


@pytest.mark.parametrize(
    ("words", "reached"),
    [
        (("127.0.0.1", "1"), "('127.0.0.1', 1)"),
        (("127.0.0.1", "1", "a_topic"), "('127.0.0.1', 1)"),
        (("127.0.0.1:1", "4711"), "('127.0.0.1', 1)"),
        (("[::1]:1",), "('::1', 1)"),
        (("::1", "1"), "('::1', 1)"),
    ],
)
def test_host_and_port_may_be_two_words(
    words: tuple[str, ...], reached: str, tmp_path: Path
) -> None:
    said = ran(tmp_path, script(next(failures()), header()), *words)

    assert said.strip().splitlines()[-1].startswith(f"cannot reach {reached}")


def test_an_address_without_a_port_is_refused(tmp_path: Path) -> None:
    said = ran(tmp_path, script(next(failures()), header()), "127.0.0.1")

    assert "expected HOST:PORT or HOST PORT, found '127.0.0.1'; see --help" in said


def test_hex_for_a_socket_names_an_ipv6_host_without_brackets() -> None:
    target = TargetRecord("nsq://[::1]:4150", "nsq", {})
    here = msgspec.structs.replace(header(), target=target)

    assert reproducer(next(failures()), here, "b.jsonl").address == "::1 4150"


@pytest.mark.parametrize(("came", "judged"), [(7, "\nSHOWN: "), (8, "\nNOT SHOWN")])
def test_a_traced_response_has_the_trace_id_that_was_recorded(
    came: int, judged: str, tmp_path: Path
) -> None:
    def traced(internal: int, trace_id: int) -> bytes:
        return server_frame(0, b"OK" + struct.pack(">QQQI", internal, trace_id, 9, 9))

    def serve(link: socket.socket, got: list[bytes]) -> None:
        while data := link.recv(65536):
            link.sendall(ok() if b"IDENTIFY" in data else b"")
            link.sendall(traced(2, came) if b"PUB_TRACE" in data else b"")

    talk = Exchange().open(extend_support=True)
    body = struct.pack(">IQ", 9, 7) + b"m"
    talk.send([(b"PUB_TRACE " + TOPIC + b" 0\n" + body, "traced")]).receive(traced(1, 7))
    case = failed("x/y", "ext.publish", "t", "ok", ["no"], transcript=talk.record())
    with broker(serve) as (address, _):
        said = ran(tmp_path, script(case, header()), address, "mine")

    assert judged in said


@pytest.mark.parametrize(
    ("status", "judged"), [(b"200 OK", "\nSHOWN: "), (b"404 Not Found", "\nNOT SHOWN")]
)
def test_http_goes_to_the_http_port(status: bytes, judged: str, tmp_path: Path) -> None:
    def serve(link: socket.socket, got: list[bytes]) -> None:
        got.append(link.recv(65536))
        link.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\n\r\nKO")

    with broker(serve) as (address, got):
        target = TargetRecord(url=f"nsq://{address}?http={address}", protocol="nsq")
        case = msgspec.structs.replace(
            http_header(),
            transcript=TranscriptRecord(steps=http_header().transcript.steps[:2]),
        )
        said = ran(tmp_path, script(case, header(target=target)), address, "mine")

    assert got[0].startswith(b"POST /pub_ext?topic=mine&")
    assert f"HTTP/1.1 {status.decode()}" in said
    assert judged in said


@pytest.mark.parametrize(
    ("url", "place"), [("nsq://h:4150", "'h:4151'"), ("mqx://h:4150", "''"), ("nsq://", "''")]
)
def test_without_a_word_of_it_http_has_the_usual_port(url: str, place: str) -> None:
    asked = StepRecord(0, "A", "request", hex=b"GET / HTTP/1.1\r\n\r\n".hex())
    case = msgspec.structs.replace(next(failures()), transcript=TranscriptRecord((asked,)))
    target = TargetRecord(url, url.partition("://")[0])

    made = script(case, header(target=target))

    assert f"\nHTTP = {place}\n" in made
    assert "('A', 'open', 'http')" in made


def test_a_long_body_is_short_in_the_script() -> None:
    text = script(crash(65535), header())

    assert len(text) < 14_000
    assert "This input has killed a target." in text


def test_hex_and_command() -> None:
    case = next(failures())
    ways = reproducer(case, header(), "run-0142.jsonl")

    assert ways.command == f"wireproof replay {case.case} --bundle run-0142.jsonl"
    sent = b"".join(step.data() for step in case.transcript.steps if step.kind == "send")
    assert [bytes.fromhex(stream.hex) for stream in ways.streams] == [sent]
    assert reproducer(crash(65535), header(), "b").streams[0].hex == ""


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("oms+file:a b.json?kind=message", "'oms+file:a b.json?kind=message'"),
        ("oms+file:a'; rm *", "'oms+file:a'\"'\"'; rm *'"),
        ("oms+file:a\nb", "oms+file:a_b"),
    ],
)
def test_a_case_that_sent_nothing_is_run_again(url: str, shown: str) -> None:
    case = msgspec.structs.replace(next(failures()), transcript=TranscriptRecord())
    of_documents = msgspec.structs.replace(header(), target=TargetRecord(url, "oms"))
    ways = reproducer(case, of_documents, "b.jsonl")

    assert ways.command == f"wireproof run {shown} {case.case}"
    assert ways.streams == ()


def test_an_unknown_protocol_has_a_plain_script(tmp_path: Path) -> None:
    talk = Exchange().send([(b"IDENTIFY", "all")]).receive(ok())
    case = msgspec.structs.replace(next(failures()), transcript=talk.record())
    with broker(answer_all) as (address, got):
        target = TargetRecord(url=f"mqx://{address}", protocol="mqx")
        said = ran(tmp_path, script(case, header(target=target)))

    assert got == [b"IDENTIFY"]
    assert "same as recorded" in said


@pytest.mark.parametrize("text", [HOSTILE, "'; import os #", "\0", "$(reboot)", "{{ 7*7 }}"])
def test_no_text_of_a_bundle_becomes_code(text: str) -> None:
    case = msgspec.structs.replace(
        next(failures()),
        case=text,
        case_hash=text,
        clause=text,
        title=text,
        observation=text,
        note=text,
        accepted=(text,),
        transcript=Exchange().add("open", text, note=text).add("send", text, b"x").record(),
    )
    target = TargetRecord(url=f"nsq://{text}", protocol="nsq")
    ways = reproducer(case, header(target=target), text)

    tree = ast.parse(ways.script)
    assert all(isinstance(node, ALLOWED) for node in tree.body)
    names = [
        alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names
    ]
    assert names == ["re", "secrets", "socket", "sys", "time"]
    assert re.fullmatch(r"[\w./#@%+,: -]+", ways.command)
    assert re.fullmatch(r"[\w./#@%+,:-]+", ways.file)


def test_without_a_bundle_a_case_is_run_again_against_its_target() -> None:
    record = next(failures())
    reference = header(target=TargetRecord("reference", "nsq"))

    plain = header(command="")
    assert repeat_command(record, plain, "") == f"wireproof run {URL} {record.case}"
    assert repeat_command(record, reference, "") == f"wireproof run --reference {record.case}"


def test_traffic_of_a_proxy_is_judged_again_and_not_sent() -> None:
    proxied = header(target=TargetRecord(URL, "nsq", role="proxy"))

    assert repeat_command(next(failures()), proxied, "run.jsonl") == "wireproof judge run.jsonl"


def test_pauses_between_writes_are_kept(tmp_path: Path) -> None:
    steps = (
        StepRecord(0, "A", "open"),
        StepRecord(10, "A", "send", hex=b"  V2".hex(), length=4),
        StepRecord(500_010, "A", "send", hex=b"NOP\n".hex(), length=4),
    )
    said = TranscriptRecord(steps)
    case = failed("consume/x", "ext.consume.layout", "t", "x", [], transcript=said)

    assert "('A', 'wait', '0.50')" in script(case, header())
