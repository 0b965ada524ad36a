"""Refusals and evictions: what a client of generation apache tells its user, and does next."""

import pytest

from wireproof_kit.clients.observe import answers, any_of, shown, unless
from wireproof_kit.clients.story import Story
from wireproof_kit.iggy.clients.apache.decoder import LOGIN
from wireproof_kit.iggy.clients.client import Client
from wireproof_kit.iggy.clients.driver_requests import (
    CREATE,
    POLL,
    SEND,
    ask_create,
    ask_poll,
    ask_send,
)
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.iggy.clients.probes import ONE, polls, sends
from wireproof_kit.iggy.clients.script import Evict, Refuse, Reject, Reply
from wireproof_kit.observation import Observation
from wireproof_spec.driver.lines import OPEN, Failure
from wireproof_spec.iggy.apache import evictions, statuses
from wireproof_spec.iggy.apache.envelope import pack_version, unpack_version
from wireproof_suites.iggy.client.apache.apache_case import (
    LONG,
    MANY,
    client_case,
    is_settled,
    logins_of,
    make_script,
    observe_trouble,
)
from wireproof_suites.iggy.client.seen import LATER, answered, is_given_later, is_malformed

UNKNOWN_STATUS = 77_777
UNKNOWN_REASON = 99
REFUSED_POLLS = {
    "stream": statuses.STREAM_ID_NOT_FOUND,
    "partition": statuses.PARTITION_NOT_FOUND,
    "unauthorized": statuses.UNAUTHORIZED,
    "unknown": UNKNOWN_STATUS,
}
REFUSED_SENDS = {
    "not-found": statuses.RESOURCE_NOT_FOUND,
    "checksum": statuses.INVALID_MESSAGE_CHECKSUM,
    "unauthorized": statuses.UNAUTHORIZED,
    "unknown": UNKNOWN_STATUS,
}
REFUSED_CREATIONS: dict[str, Reply] = {
    "status": Refuse(statuses.INVALID_COMMAND),
    "unauthorized": Refuse(statuses.UNAUTHORIZED),
    "result": Reject(statuses.STREAM_NAME_ALREADY_EXISTS),
    "unknown-result": Reject(UNKNOWN_STATUS),
}
WINDOW = pack_version(0, 12, 2), pack_version(0, 12, 0)
"""The highest and the lowest version of a server that accepts no client of today."""
LOGINS = {
    "credentials": Evict(evictions.INVALID_CREDENTIALS),
    "token": Evict(evictions.INVALID_TOKEN),
    "inactive": Evict(evictions.USER_INACTIVE),
    "stale": Evict(evictions.STALE_CLIENT),
    "version": Evict(evictions.INCOMPATIBLE_PROTOCOL, WINDOW),
    "malformed": Evict(evictions.MALFORMED_LOGIN),
    "unknown": Evict(UNKNOWN_REASON),
}
REASONS = {
    "no-session": evictions.NO_SESSION,
    "stale": evictions.STALE_CLIENT,
    "unknown": UNKNOWN_REASON,
}


@client_case("poll/refused", "refusal-told", "consumer", "driver", "tcp")
@pytest.mark.parametrize("name", REFUSED_POLLS)
def test_poll_refused(client: Client, name: str) -> Observation:
    """The user of a consumer is told that the server denied the poll."""
    denied = (Refuse(REFUSED_POLLS[name]),) * MANY
    script = make_script("consumer", polls=denied, asks=[ask_poll()])
    return observe_trouble(client.play(script, is_settled(POLL)), POLL, done=False)


@client_case("send/refused", "refusal-told", "producer", "driver", "tcp")
@pytest.mark.parametrize("name", REFUSED_SENDS)
def test_send_refused(client: Client, name: str) -> Observation:
    """The user of a producer is told that the server denied the messages."""
    denied = (Refuse(REFUSED_SENDS[name]),) * MANY
    script = make_script("producer", sends=denied, asks=[ask_send([ONE])])
    return observe_trouble(client.play(script, is_settled(SEND)), SEND, done=False)


@client_case("create/refused", "refusal-told", "driver", "tcp")
@pytest.mark.parametrize("name", REFUSED_CREATIONS)
def test_create_refused(client: Client, name: str) -> Observation:
    """The user of a client is told that the server denied or rejected a new stream."""
    denied = (REFUSED_CREATIONS[name],) * MANY
    script = make_script(client.role, creations=denied, asks=[ask_create("wireproof-new")])
    return observe_trouble(client.play(script, is_settled(CREATE)), CREATE, done=False)


@client_case("evict/login", "eviction-told", "consumer", "driver", "tcp")
@pytest.mark.parametrize("name", LOGINS)
def test_login(client: Client, name: str) -> Observation:
    """The user of a client whose login is answered with an eviction is told of an error."""
    script = make_script("consumer", logins=(LOGINS[name],) * MANY, asks=[ask_poll()])
    story = client.play(script, is_settled(POLL), within=LONG)
    return observe_trouble(story, POLL, done=False)


@client_case("evict/poll", "eviction-told", "consumer", "driver", "tcp")
@pytest.mark.parametrize("name", REASONS)
def test_poll(client: Client, name: str) -> Observation:
    """The user of a consumer is told of an eviction, or the poll is repeated in a new session."""
    script = make_script("consumer", polls=[Evict(REASONS[name])], asks=[ask_poll(LATER, 3)])
    story = client.play(script, answered(1), within=LONG)
    return observe_trouble(story, POLL, done=is_given_later(story, 0) and len(polls(story)) > 1)


@client_case("evict/send", "eviction-told", "producer", "driver", "tcp")
@pytest.mark.parametrize("name", REASONS)
def test_send(client: Client, name: str) -> Observation:
    """The user of a producer is told of an eviction, or its messages are sent again."""
    script = make_script("producer", sends=[Evict(REASONS[name])], asks=[ask_send([ONE])])
    story = client.play(script, answered(1, SEND), within=LONG)
    return observe_trouble(story, SEND, done=len(sends(story)) > 1)


@client_case("evict/again", "eviction", "consumer", "driver", "tcp")
def test_again(client: Client) -> Observation:
    """A client whose session was evicted logs in again before it polls."""
    evicted = Evict(evictions.STALE_CLIENT)
    script = make_script("consumer", polls=[evicted], asks=[ask_poll(), ask_poll(LATER, 3)])
    over = any_of(answered(2), lambda s: len(polls(s)) > 1, is_malformed)
    story = client.play(script, over, within=LONG)
    asked = [each for each in story.of(Asked) if each.command in ("poll_messages", LOGIN)]
    first = next((place for place, each in enumerate(asked) if each.poll), len(asked))
    behind = asked[first + 1 :]
    if not behind:
        return shown(story, "ends", seen=answered(2)(story))
    return unless(story, "logs-in-again" if behind[0].poll is None else "goes-on")


@client_case("evict/reasons", "eviction-reason", "consumer", "driver", "tcp")
def test_reasons(client: Client) -> Observation:
    """The user of a client is told for which reason a login was answered with an eviction."""
    first, second = Evict(evictions.INVALID_CREDENTIALS), Evict(evictions.USER_INACTIVE)
    logins = [first, *[second] * MANY]
    script = make_script("consumer", logins=logins, asks=[ask_poll(), ask_poll()])
    over = any_of(answered(2), lambda s: len(_told(s)) > 1)
    story = client.play(script, over, within=LONG)
    found = _told(story)
    is_apart = len(set(found)) > 1
    seen = len(found) > 1 and len(logins_of(story)) > 1
    value = "told:apart" if is_apart else "told:alike"
    return shown(story, value, seen=seen, note=str(found)[:200])


@client_case("evict/window", "window-told", "consumer", "driver", "tcp")
def test_window(client: Client) -> Observation:
    """The user of a client whose version is refused is told which versions are accepted."""
    script = make_script("consumer", logins=(LOGINS["version"],) * MANY, asks=[ask_poll()])
    story = client.play(script, any_of(lambda s: bool(_told(s)), answered(1)), within=LONG)
    found = " ".join(_told(story))
    forms = [(".".join(map(str, unpack_version(each))), str(each)) for each in WINDOW]
    is_told = all(any(form in found for form in each) for each in forms)
    value = "told:window" if is_told else "told:no-window"
    return shown(story, value, seen=bool(found), note=found[:200])


def _told(story: Story) -> list[str]:
    """Return what the user was told of failed operations, with the codes, in order."""
    found = [each.answer for op in (OPEN, POLL) for each in answers(story, op)]
    return [f"{each.message} {each.code or ''}" for each in found if isinstance(each, Failure)]
