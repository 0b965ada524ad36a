"""Records of ext, plain and upgraded topics in the broker's data directory."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import Header
from wireproof_kit.observation import Observation
from wireproof_spec.nsq.names import TRACE_ID
from wireproof_suites.nsq.disk.stored_records import (
    all_stored,
    indicator_of,
    layout_of,
    positions_true,
    publish_and_read,
    same_as_delivered,
    wait_for,
)
from wireproof_suites.nsq.steps.deliveries import Sent
from wireproof_suites.nsq.steps.message_contents import CONTENTS, header_of
from wireproof_suites.nsq.steps.topic_upgrade import NOT_UPGRADED, upgrade

SPELLINGS = [
    b' { "z" : "1",\n"a":"2" } ',
    rb'{"k":"\u0041\/<&>"}',
    '{"k":"消息"}'.encode(),
    b'{"##client_dispatch_tag":"t"}',
]
LENGTHS = [2, 8, 255, 256, 4096, 32768]
EXT: dict[str, list[tuple[Header, bytes]]] = {
    "header-lengths": [(header_of(length), b"body") for length in LENGTHS],
    "header-spellings": [(header, b"body") for header in SPELLINGS],
    "bodies": [({"k": "v"}, content) for content in CONTENTS.values()],
}


@case("nsq/disk/record", clause="ext.disk.layout", waiting=True)
@pytest.mark.parametrize("sent", EXT.values(), ids=EXT)
def test_record(
    broker: Broker, fresh_ext_topic: Topic, sent: list[tuple[Header, bytes]]
) -> Observation:
    """Each message with a header is stored on disk in the documented record layout."""
    messages: list[Sent] = [(header, broker.unique_body(content)) for header, content in sent]
    queue = publish_and_read(broker, fresh_ext_topic, messages)

    return all_stored(queue, messages, extend=True)


@case("nsq/disk/record-delivered", clause="ext.disk.layout", waiting=True)
def test_record_as_delivered(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """The timestamp and ids of a record on disk equal those of the delivered message."""
    body = broker.unique_body()
    with broker.subscribe(fresh_ext_topic) as consumer:
        queue = publish_and_read(broker, fresh_ext_topic, [({TRACE_ID: "123456789"}, body)])

        return same_as_delivered(queue, body, consumer.next(body))


@case("nsq/disk/mixed", clause="ext.disk.layout", waiting=True)
def test_mixed_records(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Messages with and without a header are stored side by side in one queue."""
    headers: list[Header | None] = [None, {"k": "v"}, None, header_of(300), b"{}", None]
    messages: list[Sent] = [(header, broker.unique_body()) for header in headers]
    queue = publish_and_read(broker, fresh_ext_topic, messages)

    return all_stored(queue, messages, extend=True)


@case("nsq/disk/many", clause="ext.disk.layout", waiting=True)
def test_many_records(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Records are stored in publish order across all files of the queue."""
    messages: list[Sent] = [
        ({"n": str(number)}, broker.unique_body(b"." * 32000)) for number in range(40)
    ]
    queue = publish_and_read(broker, fresh_ext_topic, messages)

    return all_stored(queue, messages, extend=True)


@case("nsq/disk/indicator", clause="ext.disk.indicator", waiting=True)
@pytest.mark.parametrize("length", [2, 300])
def test_indicator(broker: Broker, fresh_ext_topic: Topic, length: int) -> Observation:
    """The high 4 bits of a record's attempts mark a message with a header."""
    body = broker.unique_body()
    queue = publish_and_read(broker, fresh_ext_topic, [(header_of(length), body)])

    return indicator_of(queue, body)


@case("nsq/disk/no-header", clause="ext.disk.no-ext-record", waiting=True)
def test_indicator_without_header(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """On an ext topic, a record without a header may set the ext indicator or not."""
    body = broker.unique_body()
    queue = publish_and_read(broker, fresh_ext_topic, [(None, body)])

    return indicator_of(queue, body)


@case("nsq/disk/no-header-layout", clause="ext.disk.no-ext-record", waiting=True)
def test_layout_without_header(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """On an ext topic, a record without a header has version 0, alone or with length 0."""
    body = broker.unique_body()
    queue = publish_and_read(broker, fresh_ext_topic, [(None, body)])

    return layout_of(queue, body)


@case("nsq/disk/plain-record", clause="ext.disk.plain-record", waiting=True)
def test_plain_record(broker: Broker, fresh_plain_topic: Topic) -> Observation:
    """On disk, messages of a topic without extension have no extension version and no header."""
    messages: list[Sent] = [(None, broker.unique_body(body)) for body in CONTENTS.values()]
    queue = publish_and_read(broker, fresh_plain_topic, messages, kind="plain")

    return all_stored(queue, messages, extend=False)


@case("nsq/disk/upgraded", clause="ext.disk.upgraded", waiting=True)
def test_upgraded(broker: Broker, upgradable_topic: Topic) -> Observation:
    """After an upgrade, old records stay readable in place and new records follow them."""
    old: list[Sent] = [(None, broker.unique_body(content)) for content in CONTENTS.values()]
    publish_and_read(broker, upgradable_topic, old)
    topic = upgrade(broker, upgradable_topic)
    if topic is None:
        return NOT_UPGRADED
    new: list[Sent] = [({"k": "v"}, broker.unique_body()), (None, broker.unique_body())]
    queue = publish_and_read(broker, topic, new)

    return all_stored(queue, [*old, *new], extend=True)


@case("nsq/disk/position", clause="ext.disk.position", needs=("trace",), waiting=True)
def test_position(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """The offset and size in a trace response match the record on disk."""
    bodies = [broker.unique_body() for _ in range(2)]
    answers = [broker.publish_accepted(fresh_ext_topic, body, {TRACE_ID: "7"}) for body in bodies]
    queue = wait_for(broker, fresh_ext_topic, bodies[-1])

    return positions_true(queue, bodies, answers)
