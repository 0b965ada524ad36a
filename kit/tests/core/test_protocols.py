"""The table of protocols: every name in it is there, and a protocol is an entry and no more."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest
from small_law import CLAUSE

from wireproof.commands.protocol_decode import Decoder, decoded_protocols, decoder_of
from wireproof.replaying.protocol_replay import Replayer, replayer_of
from wireproof_kit.case import CaseMark
from wireproof_kit.errors import UsageFault
from wireproof_kit.observation import observed
from wireproof_kit.protocols import (
    PROTOCOLS,
    ProtocolEntry,
    example_url,
    read_target,
    referenced,
    resolve,
    schemes,
    session_opener,
    target_keys,
    url_of,
)
from wireproof_kit.runner.instance import Instance, make_instance
from wireproof_kit.runner.run import RunPlan, reference_of
from wireproof_reports.protocols import PROTOCOLS as REPORTED
from wireproof_reports.protocols import known
from wireproof_spec.catalogue import load_catalogue

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
TABLES = ("wireproof_kit/protocols.py", "wireproof_reports/protocols.py")
OF_A_PROTOCOL = re.compile(rf"(?<![a-z])({'|'.join(PROTOCOLS)})(?![a-z])|nsqd|lookupd", re.I)

ENTRIES = pytest.mark.parametrize("entry", PROTOCOLS.values(), ids=PROTOCOLS)


@ENTRIES
def test_every_dotted_name_is_there(entry: ProtocolEntry) -> None:
    named = [entry.session, entry.server, entry.decoder, entry.replayer, *entry.several.values()]
    for dotted in filter(None, named):
        assert callable(resolve(dotted)), dotted


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_has_its_law(protocol: str) -> None:
    assert load_catalogue(protocol).protocol == protocol
    assert callable(session_opener(protocol))


@ENTRIES
def test_what_a_reference_says_is_a_key_of_its_protocol(entry: ProtocolEntry) -> None:
    assert bool(entry.server) == bool(entry.keys)
    assert set(entry.keys) <= set(entry.target_keys)


@pytest.mark.parametrize("protocol", REPORTED)
def test_what_reports_know_is_there(protocol: str) -> None:
    parts = ("parts", "presumption", "plan", "vendor")
    named = [part for part in parts if getattr(REPORTED[protocol], part)]
    assert protocol in PROTOCOLS
    assert all(known(protocol, part) is not None for part in named)
    assert known("tick", "parts") is None


def test_what_the_command_line_takes_from_it_fits() -> None:
    for protocol in decoded_protocols():
        decoder = decoder_of(protocol)
        assert isinstance(decoder, Decoder)
        assert all(isinstance(option, click.Option) for option in decoder.options)
    for protocol, entry in PROTOCOLS.items():
        if entry.replayer:
            assert isinstance(replayer_of(protocol), Replayer)


def test_an_address_alone_is_told_by_its_port() -> None:
    assert url_of("h:8090") == "iggy://h:8090"
    assert url_of("h:4150") == "nsq://h:4150"
    assert url_of("h:1").partition("://")[0] == example_url().partition("://")[0]
    assert read_target(example_url()).url == example_url()


def test_a_second_protocol_only_adds_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = replace(PROTOCOLS["nsq"], target_keys={"http": target_keys()["http"]})
    monkeypatch.setitem(PROTOCOLS, "tick", entry)

    assert read_target("tick://h:1", [("http", "h:2")]).http == "h:2"
    assert "tick" in referenced()
    assert "tick" in schemes()
    with pytest.raises(UsageFault, match="'data' is unknown to tick; expected one of http"):
        read_target("tick://h:1", [("data", "/")])


def test_the_reference_is_that_of_the_cases_asked_for() -> None:
    assert reference_of(RunPlan("reference"), []) == referenced()[0]
    assert reference_of(RunPlan("reference", protocol="iggy"), []) == "iggy"
    cases = [instance("iggy/states/text"), instance("nsq/publish/trace")]
    assert reference_of(RunPlan("reference", selection=("iggy",)), cases) == "iggy"
    assert reference_of(RunPlan("reference", exclude=("nsq/publish",)), cases) == "iggy"
    assert reference_of(RunPlan("reference"), cases) == "nsq"


def instance(case_id: str) -> Instance:
    mark = CaseMark(case_id, CLAUSE.id)
    return make_instance(
        lambda: observed("ok"), mark, parameter_id="", parameters={}, clause=CLAUSE
    )


@pytest.mark.process
def test_the_table_imports_no_protocol() -> None:
    code = (
        "import sys, wireproof_kit.protocols, wireproof_reports.protocols\n"
        "parts = [name.split('.') for name in sys.modules if name.startswith('wireproof')]\n"
        f"print(*['.'.join(p) for p in parts if set(p) & {set(PROTOCOLS)!r}])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []


@pytest.mark.slow
def test_no_core_names_a_protocol() -> None:
    """Examples and docstrings aside; the tables are what may name them."""
    cores = [path for path in CORES if not str(path).endswith(TABLES)]
    found = [
        f"{path.name}: {word}" for path in cores for word in said(ast.parse(path.read_text()))
    ]

    assert len(cores) > 100
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
