"""Servers of each protocol number that the kit knows, and of one that was described wrongly."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest

from wireproof_kit.errors import TargetSilent
from wireproof_kit.iggy.apache import rules
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.iggy.apache.session import ApacheSession
from wireproof_kit.protocols import kit_part, read_target
from wireproof_kit.targets.embedded import start_reference
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Record
from wireproof_spec.iggy.apache.envelopes import ENVELOPES, OWN
from wireproof_spec.iggy.apache.envelopes.v0_12 import SECRET, BoundLogin
from wireproof_spec.iggy.apache.header import REPLY_RESERVED_AT, ReplyHeader
from wireproof_spec.iggy.apache.login_fields import (
    context_field,
    credential_fields,
    version_fields,
)
from wireproof_spec.iggy.bodies.text_fields import short_text


class TenantLogin(BoundLogin, frozen=True, gc=False):
    """A login with a field that no server has."""

    tenant: str = ""


@contextmanager
def served(number: str) -> Iterator[str]:
    """Run a reference of a protocol number; yield its URL."""
    arguments = ["--generation", "apache", "--protocol-number", number]
    with closing(start_reference("iggy", arguments)) as running:
        yield running.url


def opened(url: str) -> ApacheSession:
    options = SessionOptions(seed=1, run_token="t1")
    session = kit_part("iggy").open_session(read_target(url), options)
    assert isinstance(session, ApacheSession)
    return session


@pytest.mark.process
@pytest.mark.parametrize("number", ENVELOPES)
def test_a_server_of_each_number_is_judged_by_its_shapes(number: str) -> None:
    with served(number) as url:
        session = opened(url)
        server = session.arguments(["apache"], Transcript())["apache"]
        assert isinstance(server, ApacheServer)
        assert server.access.envelope is ENVELOPES[number]
        told = session.fingerprint()
        assert told["protocol"] == f"{number}.0"
        assert ("shapes" in told) is not ENVELOPES[number].verified
        session.close()


@pytest.mark.process
def test_a_server_with_another_login_than_described_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    described = ENVELOPES["0.12"]
    fields = (*version_fields(), SECRET, *credential_fields(), *short_text("tenant"))
    shape = Record(TenantLogin, *fields, *context_field())
    other = replace(described, login=Schema("login", "x", TenantLogin, shape))
    monkeypatch.setitem(ENVELOPES, "0.12", other)
    with (
        served("0.12") as url,
        pytest.raises(TargetSilent, match="description, not from a server"),
    ):
        opened(url)


@pytest.mark.process
def test_a_login_that_an_unverified_number_refuses_is_no_wrong_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(ENVELOPES, "0.12", replace(ENVELOPES["0.12"], login=OWN.login))
    with (
        served("0.12") as url,
        pytest.raises(TargetSilent, match="description, not from a server"),
    ):
        opened(url)


def test_bytes_that_a_number_gives_a_meaning_may_be_set() -> None:
    meaning = ENVELOPES["0.12"].reply_meanings[0]
    at = meaning.offset - REPLY_RESERVED_AT
    for place in range(len(ReplyHeader(client=1).reserved)):
        reserved = bytearray(36)
        reserved[place] = 1
        header = ReplyHeader(client=1, reserved=bytes(reserved))
        assert rules.has_set_bytes(header, OWN)
        is_meant = at <= place < at + meaning.size
        assert rules.has_set_bytes(header, ENVELOPES["0.12"]) is not is_meant
