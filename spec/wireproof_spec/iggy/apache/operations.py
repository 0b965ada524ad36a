"""The operations of request headers, and the command codes of those that are not replicated."""

REGISTER = 1
NON_REPLICATED = 2
LOGOUT = 3
CREATE_TOPIC_INTERNAL = 64
"""The operation in the reply of the peer when a topic was created; no client may send it."""
CREATE_STREAM = 128
DELETE_STREAM = 130
CREATE_TOPIC = 132
DELETE_TOPIC = 134
CREATE_CONSUMER_GROUP = 139
DELETE_CONSUMER_GROUP = 140
USERS = range(141, 147)
"""Create and change users, their passwords and rights, and create tokens."""
JOIN_CONSUMER_GROUP = 148
LEAVE_CONSUMER_GROUP = 149
SEND_MESSAGES = 160
STORE_CONSUMER_OFFSET = 161
DELETE_CONSUMER_OFFSET = 162

OPERATIONS = {
    REGISTER: "register",
    NON_REPLICATED: "non_replicated",
    LOGOUT: "logout",
    CREATE_STREAM: "create_stream",
    DELETE_STREAM: "delete_stream",
    CREATE_TOPIC: "create_topic",
    DELETE_TOPIC: "delete_topic",
    CREATE_CONSUMER_GROUP: "create_consumer_group",
    DELETE_CONSUMER_GROUP: "delete_consumer_group",
    JOIN_CONSUMER_GROUP: "join_consumer_group",
    LEAVE_CONSUMER_GROUP: "leave_consumer_group",
    SEND_MESSAGES: "send_messages",
    STORE_CONSUMER_OFFSET: "store_consumer_offset",
    DELETE_CONSUMER_OFFSET: "delete_consumer_offset",
}
"""Those with a shape in this grammar; a client may send 1 to 3, 128 to 149 and 160 to 162."""

INTERNAL = range(64, 128)
"""Reserved for servers: each is refused from a client."""
METADATA = range(CREATE_STREAM, LEAVE_CONSUMER_GROUP + 1)
PARTITION = range(SEND_MESSAGES, DELETE_CONSUMER_OFFSET + 1)

RESULT_FRAMED = frozenset({REGISTER, *METADATA, STORE_CONSUMER_OFFSET, DELETE_CONSUMER_OFFSET})
"""Operations whose replies begin with a result section.

The pages except the reply to a login (reading iggy.apache.login.result-section); the peer writes a
section there, too.
"""

WITHOUT_PAYLOAD = frozenset(
    {
        *(DELETE_STREAM, DELETE_TOPIC, STORE_CONSUMER_OFFSET, DELETE_CONSUMER_OFFSET),
        *(DELETE_CONSUMER_GROUP, JOIN_CONSUMER_GROUP, LEAVE_CONSUMER_GROUP),
    }
)
"""Operations of which the pages describe no payload behind the result section of the reply."""

PING = 1
GET_CLUSTER_METADATA = 12
GET_ME = 20
LOGIN_USER = 38
LOGIN_WITH_PERSONAL_ACCESS_TOKEN = 44
LEGACY_LOGINS = frozenset({LOGIN_USER, LOGIN_WITH_PERSONAL_ACCESS_TOKEN})
POLL_MESSAGES = 100
GET_CONSUMER_OFFSET = 120
GET_STREAM = 200
GET_STREAMS = 201
GET_TOPIC = 300
GET_TOPICS = 301
GET_CONSUMER_GROUP = 600
GET_CONSUMER_GROUPS = 601
SYNC_CONSUMER_GROUP = 606

CODES = {
    PING: "ping",
    POLL_MESSAGES: "poll_messages",
    GET_CONSUMER_OFFSET: "get_consumer_offset",
    GET_STREAM: "get_stream",
    GET_TOPIC: "get_topic",
    GET_CONSUMER_GROUP: "get_consumer_group",
    GET_CONSUMER_GROUPS: "get_consumer_groups",
    SYNC_CONSUMER_GROUP: "sync_consumer_group",
}
"""Commands of operation `NON_REPLICATED` with a shape in this grammar."""

KNOWN_CODES = frozenset(
    {
        *(PING, 10, 11, GET_CLUSTER_METADATA, 13, 20, 21, 22, *range(31, 46)),
        *(POLL_MESSAGES, 101, 102, GET_CONSUMER_OFFSET, 121, 122, *range(200, 206)),
        *(*range(300, 306), 402, 403, 503, *range(600, 607)),
    }
)
"""All command codes of the pages; those of replicated commands are no reads."""
