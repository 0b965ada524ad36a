from dataclasses import replace

import pytest
from scripted_peer import Peer, Script, ScriptedPeer

from wireproof_kit.nsq.topics.channels import REFUSALS, ChannelSweeper
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.http import HttpClient
from wireproof_kit.wire.transcript import Transcript

TOPIC = Topic(
    name="t",
    partition=3,
    extend=True,
    ordered=False,
    shared=True,
    address=("127.0.0.1", 1),
    channel_prefix="wp_1_c",
)


def answering(status: str, seen: list[str]) -> Script:
    def script(peer: Peer) -> None:
        seen.append(peer.until(b"\r\n\r\n").decode().split(" HTTP")[0])
        peer.say(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())

    return script


def sweep(status: str, *channels: str) -> list[str]:
    seen: list[str] = []
    with ScriptedPeer(answering(status, seen)) as peer:
        http = HttpClient(peer.address, transcript=Transcript(), seconds=5.0)
        topic = replace(TOPIC, http_address=peer.address)
        sweeper = ChannelSweeper()
        for channel in channels:
            sweeper.delete(http, topic, channel)
    return seen


def test_a_channel_of_the_run_is_deleted_where_its_topic_is_led() -> None:
    assert sweep("200 OK", "wp_1_c_1") == [
        "POST /channel/delete?topic=t&partition=3&channel=wp_1_c_1"
    ]


@pytest.mark.parametrize("channel", ["orders", "wp_1_c_1#ephemeral"])
def test_channels_of_others_and_those_that_go_by_themselves_are_left_alone(channel: str) -> None:
    assert sweep("200 OK", channel) == []


@pytest.mark.parametrize("status", ["404 Not Found", "500 Error"])
def test_a_target_that_does_not_offer_it_is_soon_left_alone(status: str) -> None:
    assert len(sweep(status, *[f"wp_1_c_{number}" for number in range(9)])) == REFUSALS
