"""Cornered faults: wrong in the circumstances of the corner, right everywhere else."""

from pathlib import Path

import pytest

from wireproof_reference_impl import corners
from wireproof_reference_impl.addresses import BadOption
from wireproof_reference_impl.nsq.behaviour import of_dialect
from wireproof_reference_impl.nsq.core.commands.table import handlers
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.log import MemoryStorage
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.faulty.circumstances import CONTEXT
from wireproof_reference_impl.nsq.faulty.corners import CORNERS
from wireproof_reference_impl.nsq.presets import build, overrides
from wireproof_reference_impl.nsq.requests.http_request import Request
from wireproof_reference_impl.nsq.wire.limits import Limits
from wireproof_reference_impl.nsq.wire.message import PublishResult
from wireproof_reference_impl.overrides import apply_overrides
from wireproof_spec.nsq.names import MAGIC

CUT = "body-cut-when-sent"
NOW = 1_700_000_000 * 10**9


def delivered(corner: str, *, partition: int = 0, body: bytes = b"hello") -> bool:
    """Return True if a body comes out whole under a fault that cuts it in a corner."""
    name = f"{CUT}@{corner}"
    with apply_overrides(overrides([name])):
        behaviour = build("published", fault_names=[name], variant_names=[])
        node = Node(MemoryStorage(), behaviour=behaviour, limits=Limits(), now_ns=NOW)
        node.create("t", range(2), extend=True, ordered=False)
        client = Connection(node, handlers(behaviour), NOW)
        said = b'{"extend_support":true}'
        client.receive(
            MAGIC
            + b"IDENTIFY\n"
            + len(said).to_bytes(4, "big")
            + said
            + b"SUB t c %d\nRDY 1\n" % partition
            + b"PUB t %d\n" % partition
            + len(body).to_bytes(4, "big")
            + body,
            NOW,
        )
        return client.take_output().endswith(body)


@pytest.mark.parametrize(
    ("corner", "partition", "body", "is_whole"),
    [
        ("partition=zero", 0, b"hello", False),
        ("partition=zero", 1, b"hello", True),
        ("partition=last", 1, b"hello", False),
        ("partition=third", 1, b"hello", True),
        ("path=tcp", 0, b"hello", False),
        ("path=http", 0, b"hello", True),
        ("trace=untraced", 0, b"hello", False),
        ("trace=traced", 0, b"hello", True),
        ("topic=ext", 0, b"hello", False),
        ("topic=plain", 0, b"hello", True),
        ("topic=upgraded", 0, b"hello", True),
        ("client=first", 0, b"hello", False),
        ("client=second", 0, b"hello", True),
        ("delivery=first", 0, b"hello", False),
        ("delivery=requeued", 0, b"hello", True),
        ("value=body-blank-ends", 0, b"hello ", False),
        ("value=body-blank-ends", 0, b"hello", True),
        ("number=one", 0, b"hello", False),
        ("number=many", 0, b"hello", True),
        ("partition=last+path=tcp", 1, b"hello", False),
        ("partition=last+path=http", 1, b"hello", True),
    ],
)
def test_a_fault_is_wrong_in_its_corner_only(
    corner: str, partition: int, body: bytes, is_whole: bool
) -> None:
    assert delivered(corner, partition=partition, body=body) is is_whole


@pytest.mark.parametrize(
    ("corner", "ext", "holds"),
    [
        ("value=names-upper-case", b'{"Key":"v"}', True),
        ("value=names-upper-case", b'{"key":"V"}', False),
        ("value=header-large", b'{"k":"' + b"v" * 4096 + b'"}', True),
        ("value=header-large", b'{"k":"v"}', False),
    ],
)
def test_a_request_tells_of_its_header_before_there_is_a_message(
    corner: str, ext: bytes, holds: bool
) -> None:
    request = Request("POST", "/pub_ext", {"ext": ext}, (), NOW)
    with CONTEXT.busy_with((request,)):
        assert CORNERS[corner](CONTEXT) is holds


def test_the_answer_to_a_publish_tells_how_many_messages_came_before() -> None:
    name = "pub-trace-little-endian@number=one"
    with apply_overrides(overrides([name])):
        behaviour = build("published", fault_names=[name], variant_names=[])
        node = Node(MemoryStorage(), behaviour=behaviour, limits=Limits(), now_ns=NOW)
        node.create("t", range(1), extend=False, ordered=False)
        client = Connection(node, handlers(behaviour), NOW)
        traced = b"PUB_TRACE t 0\n" + (13).to_bytes(4, "big") + (77).to_bytes(8, "big") + b"hello"
        ids: list[bytes] = []
        for sent in (MAGIC + traced, traced):
            client.receive(sent, NOW)
            ids.append(client.take_output().partition(b"OK")[2][:8])
    assert ids == [(1).to_bytes(8, "little"), (2).to_bytes(8, "big")]


def test_an_unknown_corner_is_refused() -> None:
    with pytest.raises(BadOption, match="no corner is called 'colour=red'"):
        overrides([f"{CUT}@colour=red"])


def test_the_first_call_in_the_corner_is_reported(tmp_path: Path) -> None:
    corners.report_to(tmp_path)
    try:
        delivered("partition=third")
        assert not (tmp_path / corners.ENTERED).exists()
        delivered("partition=zero")
        assert (tmp_path / corners.ENTERED).exists()
    finally:
        corners.report_to(None)


def test_a_rule_of_the_behaviour_table_is_wrong_in_its_corner_only() -> None:
    name = "trace-little-endian@partition=third"
    settings = build("published", fault_names=[name], variant_names=[])
    right = of_dialect("published").publish.ext_trace_response
    stored = PublishResult(1, 2, 3, 4)
    assert settings.publish.ext_trace_response(stored) == right(stored)
