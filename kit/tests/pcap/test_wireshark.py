"""The Lua dissectors of docs/: what they show is what the scapy layers read from one capture.

Captures are written and read back by scapy everywhere; Wireshark's own tshark is asked where it
is installed.
"""

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from scapy.layers.inet import TCP
from scapy.packet import Packet
from scapy.utils import PcapNgReader

from wireproof_kit import pcap
from wireproof_kit.iggy.pcap.requests import read_request
from wireproof_kit.iggy.pcap.responses import read_response
from wireproof_kit.nsq.pcap.commands import MAGIC, Identify, Subscribe, read_command
from wireproof_kit.nsq.pcap.frames import read_frame
from wireproof_kit.nsq.pcap.messages import MESSAGES
from wireproof_kit.pcap.exchange import Exchange
from wireproof_kit.pcap.layer import LayerViolation
from wireproof_kit.pcap.leaves import leaves
from wireproof_kit.protocols import kit_part
from wireproof_spec.iggy import golden as iggy_golden
from wireproof_spec.nsq import golden as nsq_golden
from wireproof_spec.step_record import StepRecord, pack_bytes

pytestmark = pytest.mark.long

TSHARK = shutil.which("tshark")
POLL, SEND = 100, 101

Values = Mapping[str, list[str]]
"""Field of the dissector → its values in one stream, sorted."""

NSQ_FIELDS = {
    "command_name": "nsq.command",
    "size": "nsq.size",
    "count": "nsq.count",
    "header_length": "nsq.header_length",
    "frame_type": "nsq.frame_type",
    "timestamp_ns": "nsq.timestamp_ns",
    "attempts": "nsq.attempts",
    "internal_id": "nsq.internal_id",
    "trace_id": "nsq.trace_id",
    "extend_version": "nsq.extend_version",
    "extend_length": "nsq.extend_length",
    "disk_queue_offset": "nsq.disk_queue_offset",
    "disk_queue_data_size": "nsq.disk_queue_data_size",
}
IGGY_FIELDS = {
    "code": "iggy.code",
    "status": "iggy.status",
    "strategy": "iggy.strategy",
    "value": "iggy.value",
    "auto_commit": "iggy.auto_commit",
    "offset": "iggy.offset",
    "state": "iggy.state",
    "timestamp": "iggy.timestamp",
    "checksum": "iggy.checksum",
    "headers_length": "iggy.headers_length",
}


def nsq_exchanges() -> Iterator[Exchange]:
    for scenario in nsq_golden.nsqd_tcp():
        steps = [opened(name) for name in scenario.connections]
        for step in scenario.steps:
            if step.data and step.direction in ("send", "recv"):
                kind = "send" if step.direction == "send" else "receive"
                steps.append(carried(step.connection, kind, step.data))
        yield Exchange(scenario.name, steps)


def iggy_exchanges() -> Iterator[Exchange]:
    for scenario in iggy_golden.tcp():
        names = dict.fromkeys(step.connection for step in scenario.steps)
        steps = [opened(name) for name in names]
        for step in scenario.steps:
            if step.direction in ("c2s", "s2c"):
                kind = "send" if step.direction == "c2s" else "receive"
                steps.append(carried(step.connection, kind, step.data))
        yield Exchange(scenario.name, steps)


def opened(connection: str) -> StepRecord:
    return StepRecord(0, connection, "open", note="127.0.0.1:4150")


def carried(connection: str, kind: str, data: bytes) -> StepRecord:
    return StepRecord(1, connection, kind, length=len(data), **pack_bytes(data))


def streams(path: Path) -> list[tuple[bytes, bytes]]:
    """Return what both sides of each connection sent, in the order of the connections."""
    found: defaultdict[int, list[bytearray]] = defaultdict(lambda: [bytearray(), bytearray()])
    with PcapNgReader(str(path)) as reader:
        for packet in reader:
            tcp = packet[TCP]
            by_target = tcp.sport < tcp.dport
            client = tcp.dport if by_target else tcp.sport
            found[client][by_target] += bytes(tcp.payload)
    return [(bytes(sent), bytes(received)) for sent, received in found.values()]


def nsq_layers(sent: bytes, received: bytes) -> Iterator[Packet]:
    """Yield all layers of a connection; raises where one of them is broken."""
    extended = placed = False
    sent = sent.removeprefix(MAGIC)
    while sent:
        command, sent = read_command(sent)
        if isinstance(command, Identify):
            extended = b'"extend_support":true' in command.identity.replace(b" ", b"")
        if isinstance(command, Subscribe):
            placed = placed or command.command_name in (b"SUB_ORDERED", b"SUB_ADVANCED")
        yield command
    while received:
        frame, received = read_frame(received, MESSAGES[extended, placed])
        yield frame


def iggy_layers(sent: bytes, received: bytes) -> Iterator[Packet]:
    codes: list[int] = []
    while sent:
        request, sent = read_request(sent)
        codes.append(request.code)
        if request.code not in (POLL, SEND):
            request.remove_payload()
        yield request
    for code in codes:
        if not received:
            return
        response, received = read_response(received, code)
        if code != POLL:
            response.remove_payload()
        yield response


def values(layers: Iterable[Packet], fields: Mapping[str, str]) -> Values:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for layer in layers:
        for path, _, value in leaves(layer):
            name = fields.get(path.rpartition(".")[2])
            if name == "nsq.command" and isinstance(value, bytes) and value:
                found[name].append(value.decode())
            elif name is not None and isinstance(value, int):
                found[name].append(str(value))
    return {name: sorted(texts) for name, texts in found.items()}


def shown(
    script: Path | None, path: Path, fields: Sequence[str], *options: str
) -> dict[int, Values]:
    """Return what tshark shows, stream by stream."""
    assert TSHARK is not None
    wanted = [word for field in ("tcp.stream", *fields) for word in ("-e", field)]
    asked = ["-X", f"lua_script:{script}", "-r", str(path), *options]
    form = ["-T", "fields", "-E", "occurrence=a", "-E", "aggregator=;"]
    said = subprocess.run(
        [TSHARK, *asked, *form, *wanted],
        capture_output=True,
        text=True,
        check=True,
    )
    found: defaultdict[int, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for line in said.stdout.splitlines():
        stream, *columns = line.split("\t")
        for field, column in zip(fields, columns, strict=True):
            found[int(stream)][field] += [_plain(text) for text in column.split(";") if text]
    return {
        stream: {field: sorted(texts) for field, texts in there.items()}
        for stream, there in found.items()
    }


def _plain(text: str) -> str:
    return str(int(text, 16)) if text.startswith("0x") else text


def readable(path: Path, protocol: str) -> dict[int, Values]:
    """Return what the layers read, of all streams that they read whole."""
    read = nsq_layers if protocol == "nsq" else iggy_layers
    fields = NSQ_FIELDS if protocol == "nsq" else IGGY_FIELDS
    found: dict[int, Values] = {}
    for number, (sent, received) in enumerate(streams(path)):
        if protocol == "nsq" and not sent.startswith(MAGIC):
            continue
        try:
            found[number] = values(read(sent, received), fields)
        except LayerViolation:
            continue
    return found


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("captures")
    made = {"nsq": folder / "nsq.pcapng", "iggy": folder / "iggy.pcapng"}
    pcap.write(made["nsq"], nsq_exchanges())
    pcap.write(made["iggy"], iggy_exchanges())
    return made


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "fewest"), [("nsq", 300), ("iggy", 70)])
def test_scapy_reads_the_captures_back(
    protocol: str, fewest: int, captures: dict[str, Path]
) -> None:
    exchanges = nsq_exchanges() if protocol == "nsq" else iggy_exchanges()
    connections = {(each.name, step.conn) for each in exchanges for step in each.steps}

    assert len(streams(captures[protocol])) == len(connections)
    found = readable(captures[protocol], protocol)
    assert len(found) > fewest
    fields = NSQ_FIELDS if protocol == "nsq" else IGGY_FIELDS
    assert {name for there in found.values() for name in there} == set(fields.values())


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["nsq", "iggy"])
def test_wireshark_shows_what_the_layers_read(protocol: str, captures: dict[str, Path]) -> None:
    if TSHARK is None:
        pytest.skip(f"tshark is not installed: the dissector of {protocol} was not run")
    fields = list((NSQ_FIELDS if protocol == "nsq" else IGGY_FIELDS).values())
    decode_as = ("-d", f"tcp.port==4150,wireproof_{protocol}")
    seen = shown(kit_part(protocol).dissector, captures[protocol], fields, *decode_as)

    for number, read in readable(captures[protocol], protocol).items():
        there = {field: texts for field, texts in seen[number].items() if texts}
        assert there == {field: texts for field, texts in read.items() if texts}, number


@pytest.mark.slow
def test_a_script_knows_its_streams_by_themselves(captures: dict[str, Path]) -> None:
    """Without Decode As, on a port that nobody has registered."""
    if TSHARK is None:
        pytest.skip("tshark is not installed: the dissectors' heuristics were not run")
    for protocol, field in (("nsq", "nsq.command"), ("iggy", "iggy.code")):
        seen = shown(kit_part(protocol).dissector, captures[protocol], [field])
        recognised = sum(bool(there[field]) for there in seen.values())
        assert recognised > 0.8 * len(readable(captures[protocol], protocol))
