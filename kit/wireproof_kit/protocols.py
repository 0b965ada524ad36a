"""The table of protocols: dotted names, imported when used."""

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from wireproof_kit.errors import UsageFault
from wireproof_kit.targets.session import OpenSession
from wireproof_kit.targets.target import (
    USUAL_KEYS,
    Keys,
    Target,
    TargetKey,
    parse_target,
    with_key,
)


@dataclass(frozen=True, slots=True)
class ProtocolEntry:
    """Where a protocol's parts live, as dotted names; ``arguments`` are what cases may take.

    ``server`` is the reference; a protocol may have none. ``reference`` are the options with which
    the embedded one offers all that cases need; of what it says when it is ready, ``keys`` name
    what its URL carries, by target key. ``schemes`` begin its URLs, if not its own name does.
    ``several`` are arguments that a target has several of: a function names them, and a case
    that takes one is run once for each. ``decoder`` takes its bytes apart for the command
    line, ``replayer`` sends its exchanges again, ``fuzzing`` opens a target for a campaign of
    the fuzzer. ``target_keys`` are what a user may give beside
    the address of a target, and ``example`` is the URL of one, at the port it usually has.
    """

    session: str
    suites: str
    arguments: tuple[str, ...]
    example: str
    server: str = ""
    reference: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    schemes: tuple[str, ...] = ()
    several: Mapping[str, str] = field(default_factory=dict[str, str])
    decoder: str = ""
    replayer: str = ""
    fuzzing: str = ""
    target_keys: Keys = field(default_factory=dict[str, TargetKey])


PROTOCOLS = {
    "nsq": ProtocolEntry(
        session="wireproof_kit.nsq.session:open_session",
        suites="wireproof_suites.nsq",
        arguments=(
            "broker",
            "ext_topic",
            "plain_topic",
            "fresh_ext_topic",
            "other_fresh_ext_topic",
            "fresh_plain_topic",
            "fresh_ordered_topic",
            "fresh_ordered_ext_topic",
            "upgradable_topic",
            "shared_partitioned_topic",
            "shared_partitioned_ext_topic",
            "shared_partitioned_ordered_topic",
            "shared_replicated_topic",
            "partitioned_topic",
            "partitioned_ext_topic",
            "partitioned_ordered_topic",
            "replicated_topic",
            "replicated_ext_topic",
            "movable_topic",
            "movable_ordered_topic",
            "new_topic_name",
            "lookup",
            "cluster",
        ),
        example="nsq://127.0.0.1:4150",
        server="wireproof_reference_impl.nsq.serve:main",
        reference=(
            *("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--control", "127.0.0.1:0"),
            *("--nodes", "2", "--lookupds", "2"),
        ),
        keys={"http": "http", "data": "data", "lookupd": "lookupd_http", "control": "control"},
        decoder="wireproof.nsq.decode:decoder",
        replayer="wireproof.nsq.replay:replayer",
        fuzzing="wireproof_kit.nsq.fuzz.fuzz_session:open_grounds",
        target_keys={
            "http": USUAL_KEYS["http"],
            "lookupd": TargetKey("servers", "An nsqlookupd; repeatable."),
            **USUAL_KEYS,
        },
    ),
    "iggy": ProtocolEntry(
        session="wireproof_kit.iggy.session:open_session",
        suites="wireproof_suites.iggy",
        arguments=("server", "topic"),
        example="iggy://127.0.0.1:8090",
        server="wireproof_reference_impl.iggy.serve:main",
        reference=(
            *("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--control", "127.0.0.1:0"),
        ),
        keys={"http": "http", "data": "data", "control": "control"},
        decoder="wireproof.iggy.decode:decoder",
        fuzzing="wireproof_kit.iggy.fuzz.fuzz_session:open_grounds",
        replayer="wireproof.iggy.replay:replayer",
        target_keys={key: USUAL_KEYS[key] for key in ("http", "data", "control", "auth_env")},
    ),
    "oms": ProtocolEntry(
        session="wireproof_kit.oms.session:open_session",
        suites="wireproof_suites.oms",
        arguments=("capture", "document_name"),
        example="oms+file:messages.jsonl",
        schemes=("oms+file",),
        several={"document_name": "wireproof_kit.oms.captured:document_names"},
    ),
}


def schemes() -> Mapping[str, Keys]:
    """Return what URLs of targets may begin with, and the keys that each knows."""
    return {
        scheme: entry.target_keys
        for name, entry in PROTOCOLS.items()
        for scheme in entry.schemes or (name,)
    }


def example_url() -> str:
    """Return the URL of a target as one is written."""
    return next(iter(PROTOCOLS.values())).example


def url_of(address: str) -> str:
    """Return the URL that HOST:PORT alone may have meant: of the protocol whose port it is."""
    port = address.rpartition(":")[2]
    usual = (entry.example for entry in PROTOCOLS.values() if entry.example.endswith(f":{port}"))
    return f"{next(usual, example_url()).partition('://')[0]}://{address}"


def target_keys() -> Keys:
    """Return the keys of all protocols; where two have one, as the first of them says."""
    keys: dict[str, TargetKey] = {}
    for entry in PROTOCOLS.values():
        keys |= {key: known for key, known in entry.target_keys.items() if key not in keys}
    return keys


def read_target(url: str, keys: Iterable[tuple[str, str]] = ()) -> Target:
    """Return the target that a URL names, with the keys given beside it.

    Raises:
        UsageFault: as `parse_target` and `with_key`.
    """
    target = parse_target(url, schemes())
    for key, value in keys:
        target = with_key(target, key, value, PROTOCOLS[target.protocol].target_keys)
    return target


def referenced() -> tuple[str, ...]:
    """Return the protocols that have a reference."""
    return tuple(name for name, entry in PROTOCOLS.items() if entry.server)


def protocol_of(case_id: str) -> str:
    """Return the protocol that a case id begins with."""
    return case_id.partition("/")[0]


def resolve(dotted: str) -> Callable[..., object]:
    """Import ``package.module:name`` and return the named callable."""
    module, _, name = dotted.partition(":")
    return cast(Callable[..., object], getattr(importlib.import_module(module), name))


def session_opener(protocol: str) -> OpenSession:
    """Return the function that opens a session of a protocol.

    Raises:
        UsageFault: the protocol is unknown.
    """
    entry = PROTOCOLS.get(protocol)
    if entry is None:
        raise UsageFault(f"protocol {protocol!r} is unknown; known: {', '.join(PROTOCOLS)}")
    return cast(OpenSession, resolve(entry.session))
