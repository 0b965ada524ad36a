"""The status codes of the binary transport, with their names in HTTP errors."""

from http import HTTPStatus

OK = 0
INVALID_COMMAND = 3
UNAUTHENTICATED = 40
"""Tagged servers only."""
INVALID_NUMBER_ENCODING = 82
"""Tagged servers only."""
CLIENT_NOT_FOUND = 100
CANNOT_PARSE_SLICE = 204
STREAM_ID_NOT_FOUND = 1009
STREAM_NAME_NOT_FOUND = 1010
STREAM_ID_ALREADY_EXISTS = 1011
STREAM_NAME_ALREADY_EXISTS = 1012
INVALID_STREAM_NAME = 1013
INVALID_STREAM_ID = 1014
TOPIC_ID_NOT_FOUND = 2010
TOPIC_NAME_NOT_FOUND = 2011
TOPIC_ID_ALREADY_EXISTS = 2012
TOPIC_NAME_ALREADY_EXISTS = 2013
INVALID_TOPIC_NAME = 2014
TOO_MANY_PARTITIONS = 2015
INVALID_TOPIC_ID = 2016
PARTITION_NOT_FOUND = 3007
NO_PARTITIONS = 3008
SEGMENT_NOT_FOUND = 4000
INVALID_MESSAGES_COUNT = 4009
CANNOT_READ_MESSAGE_TIMESTAMP = 4014
TOO_BIG_HEADERS_PAYLOAD = 4017
INVALID_HEADER_KEY = 4018
INVALID_HEADER_VALUE = 4019
CANNOT_READ_MESSAGE_PAYLOAD = 4021
TOO_BIG_MESSAGE_PAYLOAD = 4022
EMPTY_MESSAGE_PAYLOAD = 4024
INVALID_KEY_VALUE_LENGTH = 4028
INVALID_OFFSET = 4100
CONSUMER_GROUP_NOT_FOUND = 5000
CONSUMER_GROUP_ALREADY_EXISTS = 5001
CONSUMER_GROUP_MEMBER_NOT_FOUND = 5002
INVALID_CONSUMER_GROUP_ID = 5003

STATUSES = {
    INVALID_COMMAND: "invalid_command",
    UNAUTHENTICATED: "unauthenticated",
    INVALID_NUMBER_ENCODING: "invalid_number_encoding",
    CLIENT_NOT_FOUND: "client_not_found",
    CANNOT_PARSE_SLICE: "cannot_parse_slice",
    STREAM_ID_NOT_FOUND: "stream_id_not_found",
    STREAM_NAME_NOT_FOUND: "stream_name_not_found",
    STREAM_ID_ALREADY_EXISTS: "stream_id_already_exists",
    STREAM_NAME_ALREADY_EXISTS: "stream_name_already_exists",
    INVALID_STREAM_NAME: "invalid_stream_name",
    INVALID_STREAM_ID: "invalid_stream_id",
    TOPIC_ID_NOT_FOUND: "topic_id_not_found",
    TOPIC_NAME_NOT_FOUND: "topic_name_not_found",
    TOPIC_ID_ALREADY_EXISTS: "topic_id_already_exists",
    TOPIC_NAME_ALREADY_EXISTS: "topic_name_already_exists",
    INVALID_TOPIC_NAME: "invalid_topic_name",
    TOO_MANY_PARTITIONS: "too_many_partitions",
    INVALID_TOPIC_ID: "invalid_topic_id",
    PARTITION_NOT_FOUND: "partition_not_found",
    NO_PARTITIONS: "no_partitions",
    SEGMENT_NOT_FOUND: "segment_not_found",
    INVALID_MESSAGES_COUNT: "invalid_messages_count",
    CANNOT_READ_MESSAGE_TIMESTAMP: "cannot_read_message_timestamp",
    TOO_BIG_HEADERS_PAYLOAD: "too_big_headers_payload",
    INVALID_HEADER_KEY: "invalid_header_key",
    INVALID_HEADER_VALUE: "invalid_header_value",
    CANNOT_READ_MESSAGE_PAYLOAD: "cannot_read_message_payload",
    TOO_BIG_MESSAGE_PAYLOAD: "too_big_message_payload",
    EMPTY_MESSAGE_PAYLOAD: "empty_message_payload",
    INVALID_KEY_VALUE_LENGTH: "invalid_key_value_length",
    INVALID_OFFSET: "invalid_offset",
    CONSUMER_GROUP_NOT_FOUND: "consumer_group_not_found",
    CONSUMER_GROUP_ALREADY_EXISTS: "consumer_group_already_exists",
    CONSUMER_GROUP_MEMBER_NOT_FOUND: "consumer_group_member_not_found",
    INVALID_CONSUMER_GROUP_ID: "invalid_consumer_group_id",
}
"""Those that are met; the peer's `iggy/src/error.rs` holds more."""

_NOT_FOUND = frozenset(
    {
        CLIENT_NOT_FOUND,
        STREAM_ID_NOT_FOUND,
        TOPIC_ID_NOT_FOUND,
        PARTITION_NOT_FOUND,
        SEGMENT_NOT_FOUND,
        CONSUMER_GROUP_NOT_FOUND,
        CONSUMER_GROUP_MEMBER_NOT_FOUND,
    }
)
_OWN_FAULTS = range(200, 205)


def http_status(code: int) -> HTTPStatus:
    """Return the HTTP status of the error with this code.

    As in real servers, an unknown id is Not Found, an unknown name Bad Request.
    """
    if code in _NOT_FOUND:
        return HTTPStatus.NOT_FOUND
    return HTTPStatus.INTERNAL_SERVER_ERROR if code in _OWN_FAULTS else HTTPStatus.BAD_REQUEST
