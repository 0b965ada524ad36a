"""Building blocks for wrong lookup answers: conditions on requests, and changes of answers."""

from collections.abc import Callable, Mapping
from typing import cast

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.requests.http_request import HttpRefusal, Request
from wireproof_spec.strict_json import members_of

Data = dict[str, object]
Record = dict[str, object]
Change = Callable[[Data], object]
When = Callable[[Request], bool]

LOOKERS = (
    "smart.lookup.answer smart.lookup.envelope smart.lookup.consumer smart.lookup.channels "
    "smart.lookup.node-record smart.lookup.partitions smart.lookup.producers "
    "smart.lookup.leader smart.lookup.access smart.lookup.slaves smart.lookup.agree "
    "smart.lookup.metainfo "
    "lookup.extend-support smart.lookup.v1 smart.lookup.no-access smart.lookup.no-channel "
    "smart.lookup.partition-parameter smart.lookup.metainfo-unasked smart.lookup.disabled "
    "smart.lookup.tombstone create.delete create.delete-odd"
)
"""Clauses of which some case looks a topic up."""


def is_lookup(request: Request) -> bool:
    """Return True if a request looks up a topic."""
    return request.path == "/lookup"


def is_old(request: Request) -> bool:
    """Return True if a request looks up a topic in the older style."""
    return is_lookup(request) and not request.v1


def is_unmeant(request: Request) -> bool:
    """Return True if a request looks up a topic without metainfo."""
    return is_lookup(request) and not request.text("metainfo")


def is_for_reading(request: Request) -> bool:
    """Return True if a request looks up a topic for reading."""
    return is_lookup(request) and request.text("access") == "r"


def is_for_writing(request: Request) -> bool:
    """Return True if a request looks up a topic for writing."""
    return is_lookup(request) and request.text("access") == "w"


def change_some(change: Change, when: When) -> Settings:
    """Return settings under which the data of some lookup answers is changed."""
    return {"lookup.answer": make_change(change, when)}


def make_change(change: Change, when: When) -> Callable[[Request, object], object]:
    """Return a rule that changes the data of the answers to some requests."""

    def rule(request: Request, data: object) -> object:
        return change(dict(members_of(data))) if when(request) else data

    return rule


def refuse(data: Data) -> object:
    """Refuse the request instead of answering it.

    Raises:
        HttpRefusal: always.
    """
    raise HttpRefusal(400, "INVALID_ARG")


def without(name: str) -> Change:
    """Return a change of answer data that removes a member."""
    return lambda data: {key: value for key, value in data.items() if key != name}


def rename(name: str, other: str) -> Change:
    """Return a change of answer data that renames a member."""
    return lambda data: {other if key == name else key: value for key, value in data.items()}


def partitions(data: Data) -> dict[str, Record]:
    """Return the partitions listed in the data of a lookup answer."""
    return cast(dict[str, Record], data.get("partitions") or {})


def producers(data: Data) -> list[Record]:
    """Return the producers listed in the data of a lookup answer."""
    return cast(list[Record], data.get("producers") or [])


def channels(data: Data) -> list[str]:
    """Return the channels listed in the data of a lookup answer."""
    return cast(list[str], data["channels"])


def lookup_nodes(data: Data) -> list[Record]:
    """Return the lookup servers listed in the data of an answer to listlookup."""
    return cast(list[Record], data["lookupdnodes"])


def each_record(change: Callable[[Record], Record]) -> Change:
    """Return a change of answer data that changes every node; lists that are null stay null."""

    def change_each(data: Data) -> object:
        if data["partitions"] is None:
            return data
        led = {number: change(node) for number, node in partitions(data).items()}
        return {**data, "partitions": led, "producers": [change(n) for n in producers(data)]}

    return change_each


def only_partitions(change: Callable[[dict[str, Record]], Mapping[str, Record]]) -> Change:
    """Return a change of answer data that changes only its partitions; null stays null."""
    return lambda data: {**data, "partitions": data["partitions"] and change(partitions(data))}


def only_producers(change: Callable[[list[Record]], list[Record]]) -> Change:
    """Return a change of answer data that changes only its producers; null stays null."""
    return lambda data: {**data, "producers": data["producers"] and change(producers(data))}


def exchange_nodes(data: Data) -> object:
    """Return a lookup answer with the nodes of its partitions exchanged."""
    led = partitions(data)
    if not led:
        return data
    nodes = list(led.values())
    return {**data, "partitions": dict(zip(led, nodes[1:] + nodes[:1], strict=True))}


def drop_names(names: str) -> Callable[[Record], Record]:
    """Return a change of a node's record that removes the members with these names."""
    gone = names.split()
    return lambda node: {key: value for key, value in node.items() if key not in gone}
