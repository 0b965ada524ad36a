"""What every request of a client of generation apache must be, and its login."""

import pytest

from wireproof_kit.clients.observe import any_of, results, shown, unless
from wireproof_kit.clients.part import Role
from wireproof_kit.iggy.clients.apache import answers
from wireproof_kit.iggy.clients.client import Client
from wireproof_kit.iggy.clients.driver_requests import CREATE, POLL, ask_create, ask_poll
from wireproof_kit.iggy.clients.script import Body, Raw
from wireproof_kit.observation import Observation
from wireproof_spec.iggy.apache.envelope import pack_version
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_suites.iggy.client.apache.apache_case import (
    LONG,
    client_case,
    in_each_role,
    judge_story,
    logins_of,
    make_script,
    observe_law,
)
from wireproof_suites.iggy.client.seen import answered, is_malformed

SESSIONS = {
    "one": 1,
    "beyond-53-bits": (1 << 53) + 1,
    "highest-bit": (1 << 63) + 5,
    "greatest": (1 << 64) - 1,
}
PATCHES = {"1": 1, "1023": 1023}
NEW_STREAM = "wireproof-new"


@in_each_role("request/header", "request", "tcp")
def test_header(client: Client, role: Role) -> Observation:
    """Every request of a client has a header with command 5, and the body of its command."""
    return observe_law(client, "request", role)


@in_each_role("request/zero", "zero", "tcp")
def test_zero(client: Client, role: Role) -> Observation:
    """A client sends zero for the fields of a request's header that are not for clients."""
    return observe_law(client, "zero", role)


@in_each_role("request/reserved", "reserved", "tcp")
def test_reserved(client: Client, role: Role) -> Observation:
    """The reserved bytes of every request of a client are zero."""
    return observe_law(client, "reserved", role)


@in_each_role("request/operation", "operation", "tcp")
def test_operation(client: Client, role: Role) -> Observation:
    """A client sends only operations that clients may send."""
    return observe_law(client, "operation", role)


@in_each_role("request/stamp", "stamp", "tcp")
def test_stamp(client: Client, role: Role) -> Observation:
    """The request checksum of every request of a client is zero or that of the body."""
    return observe_law(client, "stamp", role)


@in_each_role("request/positive", "numbers-positive", "tcp")
def test_positive(client: Client, role: Role) -> Observation:
    """A client numbers its login 0, and replicated operations from 1 on."""
    return observe_law(client, "numbers-positive", role)


@in_each_role("request/client", "register", "tcp")
def test_client(client: Client, role: Role) -> Observation:
    """Every request of a client has a client id other than zero."""
    return observe_law(client, "register", role)


@in_each_role("request/identity", "identity", "tcp")
def test_identity(client: Client, role: Role) -> Observation:
    """The requests of a session have the client id of its login."""
    return observe_law(client, "identity", role)


@in_each_role("login/first", "login-first", "tcp")
def test_first(client: Client, role: Role) -> Observation:
    """A client logs in before it sends anything but pings."""
    return observe_law(client, "login-first", role)


@in_each_role("login/version", "version", "tcp")
def test_version(client: Client, role: Role) -> Observation:
    """The login of a client names the client's protocol version, packed into 30 bits."""
    return observe_law(client, "version", role)


@in_each_role("login/session", "session", "tcp")
def test_session(client: Client, role: Role) -> Observation:
    """A client sends the session that the reply to its login has in every later request."""
    return observe_law(client, "session", role)


@client_case("login/wide-session", "session", "consumer", "tcp")
@pytest.mark.parametrize("session", SESSIONS)
def test_wide_session(client: Client, session: str) -> Observation:
    """A client sends the session of its login exactly, however large it is."""
    return observe_law(client, "session", "consumer", sessions=[SESSIONS[session]])


@client_case("login/fresh", "register", "consumer", "driver", "tcp")
def test_fresh(client: Client) -> Observation:
    """A client that logs in again does so with another client id."""
    script = make_script("consumer", polls=[Raw(b"")], asks=[ask_poll(), ask_poll()])
    story = client.play(
        script, any_of(lambda s: len(logins_of(s)) > 1, answered(2), is_malformed), within=LONG
    )
    numbers = [each.request.header.client for each in logins_of(story) if each.request]
    is_fresh = len(set(numbers)) == len(numbers)
    return shown(story, "fresh" if is_fresh else "client:again", seen=len(numbers) > 1)


@client_case("login/patch", "patch", "consumer", "driver", "tcp")
@pytest.mark.parametrize("patch", PATCHES)
def test_patch(client: Client, patch: str) -> Observation:
    """A client works with a server whose version differs only in the patch number."""
    major, minor = OWN.parts
    version = pack_version(major, minor, PATCHES[patch])
    logins = [Body(answers.logged_in(OWN, 7, version=version), is_login=True)]
    story = client.play(make_script("consumer", logins=logins, asks=[ask_poll()]), answered(1))
    value = "served" if results(story, POLL) else "refused"
    return shown(story, value, seen=answered(1)(story))


@client_case("create/numbers", "numbers", "driver", "tcp")
def test_numbers(client: Client) -> Observation:
    """The request numbers of the metadata operations of a client rise."""
    asks = [ask_create(f"{NEW_STREAM}-{number}") for number in range(3)]
    story = client.play(
        make_script(client.role, asks=asks), any_of(answered(3, CREATE), is_malformed)
    )
    return judge_story(story, "numbers", seen=answered(3, CREATE)(story))


@client_case("create/made", "result-section", "driver", "tcp")
def test_made(client: Client) -> Observation:
    """The user of a client is told the number of the stream that was created."""
    story = client.play(
        make_script(client.role, asks=[ask_create(NEW_STREAM)]),
        any_of(answered(1, CREATE), is_malformed),
    )
    found = next(iter(results(story, CREATE)), None)
    if found is None:
        return shown(story, "refused", seen=answered(1, CREATE)(story))
    due = {"id": answers.FIRST_CREATED, "name": NEW_STREAM}
    wrong = [name for name, value in due.items() if found.fields.get(name, value) != value]
    return unless(story, "other" if wrong else "as-sent", note=", ".join(wrong))
