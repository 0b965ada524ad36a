"""Protocols are registered: what is named is there, and cores know none of them."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest
from fake_session import instance
from registration import Registration, forget
from small_law import CLAUSE

from wireproof.commands.protocol_decode import Decoder, decoded_protocols, decoder_of
from wireproof.replaying.protocol_replay import Replayer, replayer_of
from wireproof_kit.errors import UsageFault
from wireproof_kit.observation import observed
from wireproof_kit.protocols import (
    example_url,
    kit_part,
    known_protocols,
    list_with_fuzzing,
    list_with_reference,
    read_target,
    schemes,
    server,
    suites,
    target_keys,
    url_of,
)
from wireproof_kit.runner.run import RunPlan, reference_of
from wireproof_reports.exchange.protocol import ReportPart, report_part
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.protocol import (
    Group,
    Protocol,
    UnknownProtocol,
    find_protocol,
    find_registered,
    list_having,
    protocols,
)

PROTOCOLS = known_protocols()
HOUSE = Path(__file__).parents[3]
ROOMS = (
    "spec/wireproof_spec",
    "kit/wireproof_kit",
    "kit/wireproof",
    "reference_impl/wireproof_reference_impl",
    "suites/wireproof_suites",
    "reports/wireproof_reports",
)
CORES = [
    path
    for room in ROOMS
    for path in (HOUSE / room).rglob("*.py")
    if not set(PROTOCOLS) & set(path.parts)
]
OF_A_PROTOCOL = re.compile(rf"(?<![a-z])({'|'.join(PROTOCOLS)})(?![a-z])|nsqd|lookupd", re.I)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    yield
    forget()


EVERY = pytest.mark.parametrize("protocol", PROTOCOLS)


def test_ours_are_registered_in_the_order_of_ranks() -> None:
    assert tuple(protocols())[:3] == ("nsq", "iggy", "oms")
    assert all(name == each.name for name, each in protocols().items())
    assert set(find_registered(Group.KIT)) == set(protocols())


@pytest.mark.parametrize("group", Group)
def test_every_entry_point_is_there(group: Group) -> None:
    assert find_registered(group)
    for entry in find_registered(group).values():
        assert entry.load() is not None, entry


@EVERY
def test_every_protocol_has_its_law(protocol: str) -> None:
    assert load_catalogue(protocol).protocol == protocol
    assert callable(kit_part(protocol).open_session)
    assert suites(protocol)


@EVERY
def test_what_a_reference_says_is_a_key_of_its_protocol(protocol: str) -> None:
    known = kit_part(protocol)
    assert (protocol in list_with_reference()) == bool(known.reference)
    assert set(known.keys) <= set(known.target_keys)
    assert set(list_with_fuzzing()) <= set(list_with_reference())


def test_what_is_missing_reports_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"nsq", "iggy"} <= set(list_having(Group.REPORTS))
    assert report_part("nsq").parts is not None
    assert report_part("tick") == ReportPart()
    with pytest.raises(UnknownProtocol, match="protocol 'tick' is unknown; known: nsq"):
        find_protocol("tick")
    Registration(monkeypatch).add(Group.REPORTS, "tick", "wireproof_spec.nsq:PROTOCOL")
    with pytest.raises(UnknownProtocol, match=r"entry point tick of wireproof\.reports, is no R"):
        report_part("tick")


def test_without_any_entry_point_the_next_step_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wireproof_spec.protocol.find_registered", lambda group: {})
    forget()
    with pytest.raises(UnknownProtocol, match="no protocol is registered; install wireproof"):
        protocols()


def test_what_the_command_line_takes_from_it_fits() -> None:
    for protocol in decoded_protocols():
        decoder = decoder_of(protocol)
        assert isinstance(decoder, Decoder)
        assert all(isinstance(option, click.Option) for option in decoder.options)
    for protocol in list_having(Group.REPLAYERS):
        assert isinstance(replayer_of(protocol), Replayer)
    for protocol in list_with_reference():
        assert callable(server(protocol))


def test_an_address_alone_is_told_by_its_port() -> None:
    assert url_of("h:8090") == "iggy://h:8090"
    assert url_of("h:4150") == "nsq://h:4150"
    assert url_of("h:1").partition("://")[0] == example_url().partition("://")[0]
    assert read_target(example_url()).url == example_url()


TICK = Protocol("tick", "tick", rank=3)
TICK_KIT = replace(kit_part("nsq"), target_keys={"http": target_keys()["http"]}, schemes=())


def test_a_further_protocol_only_registers_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    own = Registration(monkeypatch)
    own.add(Group.PROTOCOLS, "tick", f"{__name__}:TICK")
    own.add(Group.KIT, "tick", f"{__name__}:TICK_KIT")
    own.add(Group.SERVERS, "tick", "tick.server:main")

    assert read_target("tick://h:1", [("http", "h:2")]).http == "h:2"
    assert "tick" in list_with_reference()
    assert "tick" in schemes()
    with pytest.raises(UsageFault, match="'data' is unknown to tick; expected one of http"):
        read_target("tick://h:1", [("data", "/")])


def test_the_reference_is_that_of_the_cases_asked_for() -> None:
    assert reference_of(RunPlan("reference"), []) == list_with_reference()[0]
    assert reference_of(RunPlan("reference", protocol="iggy"), []) == "iggy"
    cases = [
        instance(lambda: observed("ok"), CLAUSE, case_id=case_id)
        for case_id in ("iggy/states/text", "nsq/publish/trace")
    ]
    assert reference_of(RunPlan("reference", selection=("iggy",)), cases) == "iggy"
    assert reference_of(RunPlan("reference", exclude=("nsq/publish",)), cases) == "iggy"
    assert reference_of(RunPlan("reference"), cases) == "nsq"


@pytest.mark.process
def test_what_is_known_of_protocols_imports_nothing_heavy() -> None:
    """Of a protocol its package and the module of its part: no grammar, session or decoder."""
    code = (
        "import sys, wireproof_kit.protocols as kit, wireproof_reports.exchange.protocol as told\n"
        "kit.target_keys(), kit.list_with_fuzzing()\n"
        "[told.report_part(p) for p in kit.known_protocols()]\n"
        "parts = [name.split('.') for name in sys.modules if name.startswith('wireproof')]\n"
        f"own = [p for p in parts if set(p) & {set(PROTOCOLS)!r}]\n"
        "print(*['.'.join(p) for p in own if len(p) > 2 and p[2:] != ['protocol']])\n"
        "print(*{'construct', 'hypothesis', 'pytest', 'scapy'} & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []


@pytest.mark.slow
def test_no_core_names_a_protocol() -> None:
    """Examples and docstrings aside; no module of a core is an exception."""
    found = [
        f"{path.name}: {word}" for path in CORES for word in said(ast.parse(path.read_text()))
    ]

    assert len(CORES) > 100
    assert [word for word in found if OF_A_PROTOCOL.search(word)] == []
    assert OF_A_PROTOCOL.search("target.lookupd")
    assert OF_A_PROTOCOL.search("wireproof_kit.nsq")
    assert [*said(ast.parse('EXAMPLES = ("nsq",)\ndef f():\n    """nsq"""\n    oms("iggy")'))] == [
        *("f", "oms", "iggy"),
    ]


def said(tree: ast.Module) -> Iterator[str]:
    """Return every name and text of a module but its docstrings and the examples of its help."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if node in skipped:
            skipped.update(ast.iter_child_nodes(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)
        elif isinstance(node, ast.Assign) and "EXAMPLES" in ast.unparse(node.targets[0]):
            skipped.update(ast.iter_child_nodes(node))
        else:
            yield from _words(node)


def _words(node: ast.AST) -> Iterator[str]:
    for name in ("name", "id", "attr", "arg", "module"):
        word = getattr(node, name, None)
        if isinstance(word, str):
            yield word
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
