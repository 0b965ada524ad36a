"""Deletes the channels that cases leave behind, if the target allows it.

A broker that looks for late messages in a few channels at a time, chosen at random, gets slower
with every channel that stays: hundreds of them delay a redelivery by half a minute.
"""

from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.http import HttpClient

DELETE_PATH = "/channel/delete"
# A target that refused to delete this many channels refuses all; asking on only costs time.
REFUSALS = 3
EPHEMERAL = "#ephemeral"


class ChannelSweeper:
    """Deletes channels that the kit created, until the target refuses several times in a row."""

    def __init__(self) -> None:
        self._refused = 0

    def delete(self, http: HttpClient, topic: Topic, channel: str) -> None:
        """Delete a channel of this run; errors are ignored.

        An ephemeral channel is left: the broker deletes it when it has no more consumers.
        """
        is_own = channel.startswith(topic.channel_prefix) and not channel.endswith(EPHEMERAL)
        if not is_own or self._refused >= REFUSALS:
            return
        query = {"topic": topic.name, "partition": topic.partition, "channel": channel}
        answer = http.at(topic.http_address).request("POST", DELETE_PATH, query=query)
        self._refused = 0 if answer.status == 200 else self._refused + 1
