"""A client that was refused takes nothing later either."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_spec.nsq.names import DESIRED_TAG, EXTEND_SUPPORT
from wireproof_suites.nsq.steps.elapsed_time import wait_long
from wireproof_suites.nsq.steps.subscriptions import Identify, refused_takes_nothing
from wireproof_suites.nsq.steps.topic_upgrade import NOT_UPGRADED, TAG, upgrade

WITHOUT_SUPPORT: dict[str, Identify] = {
    "no-fields": {},
    "tag": {DESIRED_TAG: TAG},
    "negotiated": {"feature_negotiation": True},
}
WITH_SUPPORT: dict[str, Identify] = {
    word: {EXTEND_SUPPORT: True, **identify} for word, identify in WITHOUT_SUPPORT.items()
}


@case(
    "nsq/subscribe/ext-topic-refused-for-long", clause="ext.subscribe.support-needed", waiting=True
)
@pytest.mark.parametrize("identify", WITHOUT_SUPPORT.values(), ids=WITHOUT_SUPPORT)
def test_refused_on_ext_topic_for_long(
    broker: Broker, fresh_ext_topic: Topic, identify: Identify
) -> Observation:
    """A client without extend_support gets no messages, even seconds after its refused SUB."""
    return refused_takes_nothing(broker, fresh_ext_topic, identify, until=wait_long)


@case(
    "nsq/subscribe/plain-topic-refused-for-long",
    clause="ext.subscribe.support-refused",
    waiting=True,
)
@pytest.mark.parametrize("identify", WITH_SUPPORT.values(), ids=WITH_SUPPORT)
def test_refused_on_plain_topic_for_long(
    broker: Broker, fresh_plain_topic: Topic, identify: Identify
) -> Observation:
    """A client gets no message, even seconds after its SUB to a plain topic was refused."""
    return refused_takes_nothing(broker, fresh_plain_topic, identify, until=wait_long)


@case("nsq/upgrade/refused-for-long", clause="ext.upgrade.subscribe-rules", waiting=True)
@pytest.mark.parametrize("identify", WITHOUT_SUPPORT.values(), ids=WITHOUT_SUPPORT)
def test_refused_on_upgraded_topic_for_long(
    broker: Broker, upgradable_topic: Topic, identify: Identify
) -> Observation:
    """A client refused on an upgraded topic for lack of extend_support is sent nothing later."""
    topic = upgrade(broker, upgradable_topic)
    if topic is None:
        return NOT_UPGRADED
    return refused_takes_nothing(broker, topic, identify, until=wait_long)
