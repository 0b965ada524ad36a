"""The commands: their codes and names; their shapes are in `bodies`."""

KILL = 0
PING = 1
GET_STATS = 10
GET_ME = 20
GET_CLIENT = 21
GET_CLIENTS = 22
LOGIN_USER = 38
"""Tagged servers only, where it must come first in the default set-up."""
POLL_MESSAGES = 100
SEND_MESSAGES = 101
GET_CONSUMER_OFFSET = 120
STORE_CONSUMER_OFFSET = 121
GET_STREAM = 200
GET_STREAMS = 201
CREATE_STREAM = 202
DELETE_STREAM = 203
GET_TOPIC = 300
GET_TOPICS = 301
CREATE_TOPIC = 302
DELETE_TOPIC = 303
CREATE_PARTITIONS = 402
DELETE_PARTITIONS = 403
GET_CONSUMER_GROUP = 600
GET_CONSUMER_GROUPS = 601
CREATE_CONSUMER_GROUP = 602
DELETE_CONSUMER_GROUP = 603
JOIN_CONSUMER_GROUP = 604
LEAVE_CONSUMER_GROUP = 605

COMMANDS = {
    KILL: "kill",
    PING: "ping",
    GET_STATS: "get_stats",
    GET_ME: "get_me",
    GET_CLIENT: "get_client",
    GET_CLIENTS: "get_clients",
    LOGIN_USER: "login_user",
    POLL_MESSAGES: "poll_messages",
    SEND_MESSAGES: "send_messages",
    GET_CONSUMER_OFFSET: "get_consumer_offset",
    STORE_CONSUMER_OFFSET: "store_consumer_offset",
    GET_STREAM: "get_stream",
    GET_STREAMS: "get_streams",
    CREATE_STREAM: "create_stream",
    DELETE_STREAM: "delete_stream",
    GET_TOPIC: "get_topic",
    GET_TOPICS: "get_topics",
    CREATE_TOPIC: "create_topic",
    DELETE_TOPIC: "delete_topic",
    CREATE_PARTITIONS: "create_partitions",
    DELETE_PARTITIONS: "delete_partitions",
    GET_CONSUMER_GROUP: "get_consumer_group",
    GET_CONSUMER_GROUPS: "get_consumer_groups",
    CREATE_CONSUMER_GROUP: "create_consumer_group",
    DELETE_CONSUMER_GROUP: "delete_consumer_group",
    JOIN_CONSUMER_GROUP: "join_consumer_group",
    LEAVE_CONSUMER_GROUP: "leave_consumer_group",
}
