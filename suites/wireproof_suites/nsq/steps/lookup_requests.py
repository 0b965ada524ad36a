"""Lookups: asking servers where a topic lives, and waiting until they have learned it."""

import contextlib
from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import replace

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.lookup.answer import read_servers
from wireproof_kit.nsq.lookup.errors import LookupRequest
from wireproof_kit.nsq.lookup.servers import DISABLE_PATH, LookupClient, is_same
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.http import HttpAnswer, HttpClient
from wireproof_kit.observation import Observation
from wireproof_kit.wire.waiting import until
from wireproof_spec.clauses.catalogue import matches

ACCESS = ("r", "w")
STYLES = {"old": False, "v1": True}
POLL_SECONDS = 0.1

LOOKUP = "/lookup"
LIST = "/listlookup"


def look(
    lookup: LookupClient | HttpClient, topic: Topic | str, *, v1: bool = True, **query: str
) -> HttpAnswer:
    """Look up a topic at one lookup server, the first unless one is given."""
    name = topic if isinstance(topic, str) else topic.name
    return ask(lookup, LOOKUP, v1=v1, topic=name, **query)


def ask(
    lookup: LookupClient | HttpClient, path: str, *, v1: bool = True, **query: str
) -> HttpAnswer:
    """Send GET for a path to one lookup server, the first unless one is given."""
    return first(lookup).request("GET", path, query=query, v1=v1)


def tell(lookup: LookupClient | HttpClient, path: str, **query: str) -> HttpAnswer:
    """Send POST for a path to one lookup server, the first unless one is given."""
    return first(lookup).request("POST", path, query=query, v1=True)


def first(lookup: LookupClient | HttpClient) -> HttpClient:
    """Return the first lookup server, or the given lookup server."""
    return lookup.servers[0] if isinstance(lookup, LookupClient) else lookup


def with_channel(broker: Broker, topic: Topic) -> str:
    """Subscribe to every partition of a topic until the case ends; return the channel's name.

    Servers may name a partition to producers only once it has a channel.
    """
    channel = topic.channel()
    for place in topic.places:
        broker.subscribe(topic.at(place.partition), channel=channel, ready=0)
    return channel


def eventually(
    broker: Broker, observe: Callable[[], Observation], *, due: Collection[str]
) -> Observation:
    """Observe until an observation matches a due pattern; else return the last one as overdue.

    Nodes tell lookup servers of what has changed in their own time.
    """
    seen: list[Observation] = []

    def again() -> Observation | None:
        seen.append(observe())
        return seen[-1] if matches(seen[-1].value, due) else None

    seconds = broker.patience.settling_seconds()
    found = until(again, seconds=seconds, every=POLL_SECONDS)
    return found or replace(seen[-1], overdue=True)


def every_server(
    lookup: LookupClient, observe: Callable[[HttpClient], Observation], *, due: str
) -> Observation:
    """Observe each lookup server in turn, and return the first observation that is not due.

    If every observation is due, the last one is returned.
    """
    seen = observe(lookup.servers[0])
    for server in lookup.servers[1:]:
        if seen.value != due:
            return seen
        seen = observe(server)
    return seen


def slaves(lookup: LookupClient) -> Sequence[HttpClient]:
    """Return the lookup servers other than the master.

    Raises:
        ArrangementFailed: listlookup names no master, or only the master's address was given.
    """
    server = lookup.servers[0]
    listed = read_servers(ask(server, LIST), LookupRequest(server.address, f"GET {LIST}"))
    if listed.master is None:
        raise ArrangementFailed("the lookup servers name no master")
    others = [each for each in lookup.servers if not is_same(each.address, listed.master)]
    if not others:
        raise ArrangementFailed("only the master's address was given; give --lookupd for another")
    return others


@contextlib.contextmanager
def writes_disabled(lookup: LookupClient, kind: str) -> Generator[None]:
    """Disable writing at every lookup server, to `all` or to ordered topics, during the context.

    Raises:
        ArrangementFailed: a server does not offer that.
    """
    try:
        for server in lookup.servers:
            answer = tell(server, DISABLE_PATH, type=kind)
            if answer.status != 200:
                raise ArrangementFailed(f"POST {DISABLE_PATH} was answered {answer.status}")
        yield
    finally:
        for server in lookup.servers:
            tell(server, DISABLE_PATH)
