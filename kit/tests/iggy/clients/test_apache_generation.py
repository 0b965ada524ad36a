"""Which generation a client speaks: shown by its requests, or named by its user."""

import pytest
from apache_requests import decoded, login, poll

from wireproof_kit.clients.story import Story
from wireproof_kit.errors import UsageFault
from wireproof_kit.iggy.clients.client import clients_of
from wireproof_kit.iggy.clients.decoder import IggyDecoder
from wireproof_kit.iggy.clients.fuzz.part import make_part
from wireproof_kit.iggy.clients.script import Script
from wireproof_kit.iggy.wire.requests import ping
from wireproof_kit.protocols import read_target

ADDRESSES = {"tcp": "127.0.0.1:1", "http": "127.0.0.1:2"}
CLIENT = "iggy+client:./driver"


def told(*data: bytes) -> dict[str, Story]:
    """Return the story of a short run in which a client sends this."""
    story = Story(IggyDecoder())
    story.events = list(decoded(*data))
    return {"consumer": story}


@pytest.mark.parametrize(
    ("named", "data", "apache", "framed"),
    [
        (None, login() + poll(), "ok", "unavailable"),
        (None, ping().data, "unavailable", "ok"),
        (None, b"", "unavailable", "ok"),
        ("apache", b"", "ok", "unavailable"),
        ("tagged", login(), "unavailable", "ok"),
    ],
)
def test_a_generation_is_shown_or_named(
    named: str | None, data: bytes, apache: str, framed: str
) -> None:
    part, stories = clients_of(named), told(data)
    assert part.observe_capability(stories, "client-apache").value == apache
    assert part.observe_capability(stories, "client-framed").value == framed


@pytest.mark.parametrize(("named", "partition"), [(None, "1"), ("tagged", "1"), ("apache", "0")])
def test_partitions_of_generation_apache_count_from_zero(
    named: str | None, partition: str
) -> None:
    part = clients_of(named)
    script = part.first["consumer"].script
    assert script.generation == named
    assert part.fill(script, ADDRESSES, {})["partition"] == partition


def test_a_login_says_which_number_and_sdk_a_client_is() -> None:
    describe = clients_of(None).describe
    assert describe is not None
    assert describe(told(login())) == {"protocol": "0.11.0", "sdk": "sdk 1.0"}
    assert describe(told(ping().data)) == {}


def test_a_target_that_is_a_client_has_a_generation_if_its_protocol_has() -> None:
    assert read_target(CLIENT, [("generation", "apache")]).generation == "apache"
    with pytest.raises(UsageFault, match="generation expected to be one of published"):
        read_target(CLIENT, [("generation", "newest")])
    with pytest.raises(UsageFault, match="generation cannot be used with a client"):
        read_target("nsq+client:./driver", [("generation", "apache")])
    with pytest.raises(UsageFault, match="http cannot be used with a client"):
        read_target(CLIENT, [("http", "127.0.0.1:1")])


def test_the_fuzzer_refuses_a_client_of_generation_apache() -> None:
    with pytest.raises(UsageFault, match="does not speak generation apache"):
        make_part().grammar(list(told(login()).values()))


def test_a_script_names_no_generation_by_default() -> None:
    assert Script("consumer").generation is None
