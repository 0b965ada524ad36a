"""Status codes, and the refusal that carries one."""

from typing import NamedTuple

_NOT_FOUND = 404
_OUR_FAULT = 500


class Status(NamedTuple):
    """A code on the wire, its name in JSON, and the HTTP status it goes with."""

    code: int
    name: str
    http: int = 400


OK_CODE = 0

INVALID_COMMAND = Status(3, "invalid_command")
UNAUTHENTICATED = Status(40, "unauthenticated", 401)
INVALID_CREDENTIALS = Status(42, "invalid_credentials")
CLIENT_NOT_FOUND = Status(100, "client_not_found", _NOT_FOUND)
INVALID_CLIENT_ID = Status(101, "invalid_client_id")
IO_ERROR = Status(200, "io_error", _OUR_FAULT)
CANNOT_PARSE_UTF8 = Status(202, "cannot_parse_utf8", _OUR_FAULT)
CANNOT_PARSE_SLICE = Status(204, "cannot_parse_slice", _OUR_FAULT)
STREAM_ID_NOT_FOUND = Status(1009, "stream_id_not_found", _NOT_FOUND)
STREAM_NAME_NOT_FOUND = Status(1010, "stream_name_not_found")
STREAM_ID_ALREADY_EXISTS = Status(1011, "stream_id_already_exists")
STREAM_NAME_ALREADY_EXISTS = Status(1012, "stream_name_already_exists")
INVALID_STREAM_NAME = Status(1013, "invalid_stream_name")
INVALID_STREAM_ID = Status(1014, "invalid_stream_id")
TOPIC_ID_NOT_FOUND = Status(2010, "topic_id_not_found", _NOT_FOUND)
TOPIC_NAME_NOT_FOUND = Status(2011, "topic_name_not_found")
TOPIC_ID_ALREADY_EXISTS = Status(2012, "topic_id_already_exists")
TOPIC_NAME_ALREADY_EXISTS = Status(2013, "topic_name_already_exists")
INVALID_TOPIC_NAME = Status(2014, "invalid_topic_name")
TOO_MANY_PARTITIONS = Status(2015, "too_many_partitions")
INVALID_TOPIC_ID = Status(2016, "invalid_topic_id")
PARTITION_NOT_FOUND = Status(3007, "partition_not_found", _NOT_FOUND)
NO_PARTITIONS = Status(3008, "no_partitions")
INVALID_MESSAGES_COUNT = Status(4009, "invalid_messages_count")
CANNOT_READ_MESSAGE = Status(4011, "cannot_read_message")
CANNOT_READ_MESSAGE_ID = Status(4012, "cannot_read_message_id")
CANNOT_READ_MESSAGE_STATE = Status(4013, "cannot_read_message_state")
CANNOT_READ_MESSAGE_TIMESTAMP = Status(4014, "cannot_read_message_timestamp")
CANNOT_READ_HEADERS_LENGTH = Status(4015, "cannot_read_headers_length")
CANNOT_READ_HEADERS_PAYLOAD = Status(4016, "cannot_read_headers_payload")
TOO_BIG_HEADERS_PAYLOAD = Status(4017, "too_big_headers_payload")
INVALID_HEADER_KEY = Status(4018, "invalid_header_key")
INVALID_HEADER_VALUE = Status(4019, "invalid_header_value")
CANNOT_READ_MESSAGE_LENGTH = Status(4020, "cannot_read_message_length")
CANNOT_READ_MESSAGE_PAYLOAD = Status(4021, "cannot_read_message_payload")
TOO_BIG_MESSAGE_PAYLOAD = Status(4022, "too_big_message_payload")
EMPTY_MESSAGE_PAYLOAD = Status(4024, "empty_message_payload")
CANNOT_READ_MESSAGE_CHECKSUM = Status(4026, "cannot_read_message_checksum")
INVALID_KEY_VALUE_LENGTH = Status(4028, "invalid_key_value_length")
INVALID_OFFSET = Status(4100, "invalid_offset")
CONSUMER_GROUP_NOT_FOUND = Status(5000, "consumer_group_not_found", _NOT_FOUND)
CONSUMER_GROUP_ALREADY_EXISTS = Status(5001, "consumer_group_already_exists")
CONSUMER_GROUP_MEMBER_NOT_FOUND = Status(5002, "consumer_group_member_not_found", _NOT_FOUND)
INVALID_CONSUMER_GROUP_ID = Status(5003, "invalid_consumer_group_id")


class Refusal(Exception):
    """A request is refused with a status; the reason is for people."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = reason


def invalid_command() -> Refusal:
    """Return the refusal of what is no command."""
    return Refusal(INVALID_COMMAND, "Invalid command")
