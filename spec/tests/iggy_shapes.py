"""Every wire shape of Iggy with one value and its bytes."""

from typing import Any

from msgspec.structs import replace

from wireproof_spec.decoding import Schema
from wireproof_spec.iggy.command_shapes import NOTHING, Nothing
from wireproof_spec.iggy.consumer import CONSUMER, CONSUMER_TAGGED, Consumer
from wireproof_spec.iggy.consumer_groups import (
    CONSUMER_GROUP_DETAILS,
    CONSUMER_GROUPS,
    GROUP_REQUEST,
    ConsumerGroup,
    ConsumerGroupDetails,
    ConsumerGroups,
    GroupMember,
    GroupRequest,
)
from wireproof_spec.iggy.consumer_offsets import (
    CONSUMER_OFFSET,
    CONSUMER_OFFSET_TAGGED,
    GET_CONSUMER_OFFSET,
    GET_CONSUMER_OFFSET_TAGGED,
    STORE_CONSUMER_OFFSET,
    STORE_CONSUMER_OFFSET_TAGGED,
    STORED_OFFSET,
    ConsumerOffset,
    ConsumerOffsetTagged,
    GetConsumerOffset,
    StoreConsumerOffset,
    StoredOffset,
)
from wireproof_spec.iggy.frame import REQUEST, RESPONSE, Request, Response
from wireproof_spec.iggy.headers import HEADER, HEADERS, Header
from wireproof_spec.iggy.identifier import IDENTIFIER, named, numeric
from wireproof_spec.iggy.message import MESSAGE, MESSAGE_OF_KNOWN_STATE, OLD_MESSAGE, Message
from wireproof_spec.iggy.partitioning import (
    PARTITIONING,
    Partitioning,
    balanced,
    messages_key,
    partition_id,
)
from wireproof_spec.iggy.poll_messages import (
    POLL_MESSAGES,
    POLL_MESSAGES_TAGGED,
    POLLED_MESSAGES,
    POLLED_MESSAGES_OLD,
    POLLED_MESSAGES_TAGGED,
    PolledMessages,
    PollMessages,
)
from wireproof_spec.iggy.segment import (
    LOG,
    POSITION_INDEX,
    TIME_INDEX,
    Log,
    PositionIndex,
    TimeIndex,
)
from wireproof_spec.iggy.send_messages import SEND_MESSAGES, SendMessages, SentMessage
from wireproof_spec.iggy.streams import (
    CREATE_STREAM,
    CREATE_STREAM_TAGGED,
    STREAM_DETAILS,
    STREAM_DETAILS_TAGGED,
    STREAM_REQUEST,
    STREAMS,
    STREAMS_TAGGED,
    CreateStream,
    Stream,
    StreamDetails,
    StreamRequest,
    Streams,
)
from wireproof_spec.iggy.system import (
    CLIENT_DETAILS,
    CLIENT_DETAILS_TAGGED,
    CLIENT_REQUEST,
    CLIENTS,
    CLIENTS_TAGGED,
    STATS,
    Client,
    ClientDetails,
    ClientGroup,
    ClientRequest,
    Clients,
    Stats,
)
from wireproof_spec.iggy.topics import (
    CREATE_TOPIC,
    CREATE_TOPIC_TAGGED,
    PARTITIONS_REQUEST,
    TOPIC_DETAILS,
    TOPIC_DETAILS_TAGGED,
    TOPIC_REQUEST,
    TOPICS,
    TOPICS_TAGGED,
    CreateTopic,
    Partition,
    PartitionsRequest,
    Topic,
    TopicDetails,
    TopicRequest,
    Topics,
)
from wireproof_spec.iggy.users import IDENTITY, LOGIN_USER, Identity, LoginUser

ONE, T = numeric(1), named("t")
ONE_HEX, T_HEX = "01 04 01000000", "02 01 74"
HEADER_HEX = "01000000 6b 03 01000000 01"
PLAIN = Message(7, 1, 8, 2**127 + 9, 0xAABBCCDD, (), b"hi")
HEADED = replace(PLAIN, headers=(Header("k", 3, b"\x01"),))
OLD = replace(PLAIN, state=None, checksum=None)
ID_HEX = "09000000000000000000000000000080"
TIMES = "0700000000000000 {} 0800000000000000" + ID_HEX
PLAIN_HEX = TIMES.format("01") + "ddccbbaa 00000000 02000000 6869"
HEADED_HEX = TIMES.format("01") + f"ddccbbaa 0b000000 {HEADER_HEX} 02000000 6869"
OLD_HEX = TIMES.format("") + "00000000 02000000 6869"
POLL = PollMessages(Consumer(1, 5), ONE, T, 3, 2, 4, 6, 1)
POLL_HEX = f"{ONE_HEX} {T_HEX} 03000000 02 0400000000000000 06000000 01"
STREAM = Stream(1, None, 2, 3, 4, "s")
STREAM_TAGGED = replace(STREAM, created_at=9)
STREAM_HEX = "01000000 02000000 0300000000000000 0400000000000000 01000000 73"
STREAM_TAGGED_HEX = "01000000 0900000000000000 02000000 0300000000000000 0400000000000000 01 73"
TOPIC = Topic(1, None, 2, None, None, None, None, 3, 4, "t")
TOPIC_TAGGED = Topic(1, 9, 2, 5, 1, 6, 7, 3, 4, "t")
TOPIC_HEX = "01000000 02000000 0300000000000000 0400000000000000 01000000 74"
TOPIC_TAGGED_HEX = (
    "01000000 0900000000000000 02000000 0500000000000000 01 0600000000000000 07"
    "0300000000000000 0400000000000000 01 74"
)
PARTITION = Partition(1, None, 2, 3, 4, 5)
PARTITION_HEX = "02000000 0300000000000000 0400000000000000 0500000000000000"
GROUP = ConsumerGroup(1, 3, 2)
GROUP_HEX = "01000000 03000000 02000000"
PLACE_HEX = f"{ONE_HEX} {T_HEX} 03000000"
CLIENT_HEX = "01000000 01 02000000 6162 "
CLIENT_TAGGED_HEX = "01000000 07000000 01 02000000 6162"
WIDE = "".join(f"{number:02x}00000000000000" for number in range(3, 11))
STATS_HEX = (
    f"01000000 0000003f {WIDE} 0b000000 0c000000 0d000000 0e000000 0f00000000000000 10000000"
    "11000000 01000000 61 00000000 01000000 63 01000000 64"
)

SHAPES: list[tuple[str, Schema[Any], object, str]] = [
    ("request", REQUEST, Request(1, b"ab"), "06000000 01000000 6162"),
    ("request without payload", REQUEST, Request(0xFFFFFFFF, b""), "04000000 ffffffff"),
    ("response", RESPONSE, Response(0, b"ab"), "00000000 02000000 6162"),
    ("error", RESPONSE, Response(1009, b""), "f1030000 00000000"),
    ("no payload", NOTHING, Nothing(), ""),
    ("identifier, number", IDENTIFIER, numeric(0x01020304), "01 04 04030201"),
    ("identifier, name", IDENTIFIER, named("orders"), "02 06 6f7264657273"),
    ("consumer", CONSUMER, Consumer(2, 7), "02 07000000"),
    ("consumer, tagged", CONSUMER_TAGGED, Consumer(1, named("c")), "01 02 01 63"),
    ("balanced", PARTITIONING, balanced(), "01 00"),
    ("balanced with a value", PARTITIONING, Partitioning(1, b"x"), "01 01 78"),
    ("partition id", PARTITIONING, partition_id(9), "02 04 09000000"),
    ("partition id of another width", PARTITIONING, Partitioning(2, b"x"), "02 01 78"),
    ("messages key", PARTITIONING, messages_key(b"key"), "03 03 6b6579"),
    ("header", HEADER, Header("k", 3, b"\x01"), HEADER_HEX),
    ("headers, none", HEADERS, (), ""),
    ("headers", HEADERS, (Header("k", 3, b"\x01"),) * 2, HEADER_HEX * 2),
    ("message", MESSAGE, PLAIN, PLAIN_HEX),
    ("message with headers", MESSAGE, HEADED, HEADED_HEX),
    ("message of any state", MESSAGE, replace(PLAIN, state=99), PLAIN_HEX.replace(" 01 ", " 63 ")),
    ("message of known state", MESSAGE_OF_KNOWN_STATE, HEADED, HEADED_HEX),
    ("old message", OLD_MESSAGE, OLD, OLD_HEX),
    (
        "send_messages",
        SEND_MESSAGES,
        SendMessages(
            ONE, T, balanced(), (SentMessage(1, HEADED.headers, b"a"), SentMessage(0, (), b"bc"))
        ),
        f"{ONE_HEX} {T_HEX} 01 00 01{'00' * 15} 0b000000 {HEADER_HEX} 01000000 61"
        f"{'00' * 16} 00000000 02000000 6263",
    ),
    ("poll_messages", POLL_MESSAGES, POLL, f"01 05000000 {POLL_HEX}"),
    (
        "poll_messages, tagged",
        POLL_MESSAGES_TAGGED,
        replace(POLL, consumer=Consumer(1, numeric(5))),
        f"01 01 04 05000000 {POLL_HEX}",
    ),
    ("polled, none", POLLED_MESSAGES, PolledMessages(None, None, ()), "00000000"),
    (
        "polled",
        POLLED_MESSAGES,
        PolledMessages(None, None, (PLAIN, HEADED)),
        f"02000000 {PLAIN_HEX} {HEADED_HEX}",
    ),
    (
        "polled, tagged",
        POLLED_MESSAGES_TAGGED,
        PolledMessages(2, 7, (PLAIN,)),
        f"02000000 0700000000000000 01000000 {PLAIN_HEX}",
    ),
    (
        "polled, old",
        POLLED_MESSAGES_OLD,
        PolledMessages(None, None, (OLD, OLD)),
        f"02000000 {OLD_HEX} {OLD_HEX}",
    ),
    ("log", LOG, Log((PLAIN, HEADED)), PLAIN_HEX + HEADED_HEX),
    ("index", POSITION_INDEX, PositionIndex((0, 47)), "00000000 2f000000"),
    ("time index", TIME_INDEX, TimeIndex((8, 9)), "0800000000000000 0900000000000000"),
    ("stream request", STREAM_REQUEST, StreamRequest(T), T_HEX),
    ("create_stream", CREATE_STREAM, CreateStream(9, "né"), "09000000 6ec3a9"),
    ("create_stream, tagged", CREATE_STREAM_TAGGED, CreateStream(0, "n"), "00000000 01 6e"),
    ("streams", STREAMS, Streams((STREAM, STREAM)), STREAM_HEX * 2),
    ("streams, tagged", STREAMS_TAGGED, Streams((STREAM_TAGGED,)), STREAM_TAGGED_HEX),
    ("stream details", STREAM_DETAILS, StreamDetails(STREAM, (TOPIC,)), STREAM_HEX + TOPIC_HEX),
    (
        "stream details, tagged",
        STREAM_DETAILS_TAGGED,
        StreamDetails(STREAM_TAGGED, (TOPIC_TAGGED,)),
        STREAM_TAGGED_HEX + TOPIC_TAGGED_HEX,
    ),
    ("topic request", TOPIC_REQUEST, TopicRequest(ONE, T), f"{ONE_HEX} {T_HEX}"),
    ("partitions request", PARTITIONS_REQUEST, PartitionsRequest(ONE, T, 3), PLACE_HEX),
    (
        "create_topic",
        CREATE_TOPIC,
        CreateTopic(ONE, 2, 3, None, None, None, None, "t"),
        f"{ONE_HEX} 02000000 03000000 74",
    ),
    (
        "create_topic, tagged",
        CREATE_TOPIC_TAGGED,
        CreateTopic(ONE, 2, 3, 1, 4, 5, 6, "t"),
        f"{ONE_HEX} 02000000 03000000 01 0400000000000000 0500000000000000 06 01 74",
    ),
    ("topics", TOPICS, Topics((TOPIC, TOPIC)), TOPIC_HEX * 2),
    ("topics, tagged", TOPICS_TAGGED, Topics((TOPIC_TAGGED,)), TOPIC_TAGGED_HEX),
    (
        "topic details",
        TOPIC_DETAILS,
        TopicDetails(TOPIC, (PARTITION,)),
        f"{TOPIC_HEX} 01000000 {PARTITION_HEX}",
    ),
    (
        "topic details, tagged",
        TOPIC_DETAILS_TAGGED,
        TopicDetails(TOPIC_TAGGED, (replace(PARTITION, created_at=9),)),
        f"{TOPIC_TAGGED_HEX} 01000000 0900000000000000 {PARTITION_HEX}",
    ),
    (
        "get_consumer_offset",
        GET_CONSUMER_OFFSET,
        GetConsumerOffset(Consumer(1, 5), ONE, T, 3),
        f"01 05000000 {PLACE_HEX}",
    ),
    (
        "get_consumer_offset, tagged",
        GET_CONSUMER_OFFSET_TAGGED,
        GetConsumerOffset(Consumer(1, T), ONE, T, 3),
        f"01 {T_HEX} {PLACE_HEX}",
    ),
    (
        "store_consumer_offset",
        STORE_CONSUMER_OFFSET,
        StoreConsumerOffset(Consumer(1, 5), ONE, T, 3, 6),
        f"01 05000000 {PLACE_HEX} 0600000000000000",
    ),
    (
        "store_consumer_offset, tagged",
        STORE_CONSUMER_OFFSET_TAGGED,
        StoreConsumerOffset(Consumer(1, T), ONE, T, 3, 6),
        f"01 {T_HEX} {PLACE_HEX} 0600000000000000",
    ),
    ("consumer offset", CONSUMER_OFFSET, ConsumerOffset(1, 2), "01000000 0200000000000000"),
    (
        "consumer offset, tagged",
        CONSUMER_OFFSET_TAGGED,
        ConsumerOffsetTagged(1, 2, 3),
        "01000000 0200000000000000 0300000000000000",
    ),
    ("stored offset", STORED_OFFSET, StoredOffset(2), "0200000000000000"),
    ("group request", GROUP_REQUEST, GroupRequest(ONE, T, 3), PLACE_HEX),
    ("groups", CONSUMER_GROUPS, ConsumerGroups((GROUP,)), GROUP_HEX),
    (
        "group details",
        CONSUMER_GROUP_DETAILS,
        ConsumerGroupDetails(GROUP, (GroupMember(8, (1, 3)), GroupMember(9, ()))),
        f"{GROUP_HEX} 08000000 02000000 01000000 03000000 09000000 00000000",
    ),
    (
        "stats",
        STATS,
        Stats(1, 0.5, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, "a", "", "c", "d"),
        STATS_HEX,
    ),
    ("client request", CLIENT_REQUEST, ClientRequest(1), "01000000"),
    ("clients", CLIENTS, Clients((Client(1, None, 1, "ab", 4),)), f"{CLIENT_HEX} 04000000"),
    (
        "client details",
        CLIENT_DETAILS,
        ClientDetails(1, None, 1, "ab", (ClientGroup(1, 2, 3),)),
        f"{CLIENT_HEX} 01000000 01000000 02000000 03000000",
    ),
    (
        "clients, tagged",
        CLIENTS_TAGGED,
        Clients((Client(1, 7, 1, "ab", 4),)),
        f"{CLIENT_TAGGED_HEX} 04000000",
    ),
    (
        "client details, tagged",
        CLIENT_DETAILS_TAGGED,
        ClientDetails(1, 7, 1, "ab", (ClientGroup(1, 2, 3),)),
        f"{CLIENT_TAGGED_HEX} 01000000 03000000 02000000 01000000",
    ),
    (
        "login_user",
        LOGIN_USER,
        LoginUser("iggy", "pass", "0.6", ""),
        "04 69676779 04 70617373 03000000 302e36 00000000",
    ),
    ("identity", IDENTITY, Identity(1), "01000000"),
]
