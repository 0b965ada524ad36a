"""Status codes, and the exception that refuses a request with one."""

from typing import NamedTuple

from wireproof_spec.iggy import statuses

_OUR_FAULT = 500


class Status(NamedTuple):
    """A status of a response: its code over TCP, its name in JSON, and its HTTP status."""

    code: int
    name: str
    http: int = 400


def _find_status(code: int) -> Status:
    return Status(code, statuses.STATUSES[code], statuses.http_status(code))


INVALID_COMMAND = _find_status(statuses.INVALID_COMMAND)
UNAUTHENTICATED = _find_status(statuses.UNAUTHENTICATED)
INVALID_CREDENTIALS = Status(42, "invalid_credentials")
INVALID_NUMBER_ENCODING = _find_status(statuses.INVALID_NUMBER_ENCODING)
CLIENT_NOT_FOUND = _find_status(statuses.CLIENT_NOT_FOUND)
INVALID_CLIENT_ID = Status(101, "invalid_client_id")
IO_ERROR = Status(200, "io_error", _OUR_FAULT)
CANNOT_PARSE_SLICE = _find_status(statuses.CANNOT_PARSE_SLICE)
STREAM_ID_NOT_FOUND = _find_status(statuses.STREAM_ID_NOT_FOUND)
STREAM_NAME_NOT_FOUND = _find_status(statuses.STREAM_NAME_NOT_FOUND)
STREAM_ID_ALREADY_EXISTS = _find_status(statuses.STREAM_ID_ALREADY_EXISTS)
STREAM_NAME_ALREADY_EXISTS = _find_status(statuses.STREAM_NAME_ALREADY_EXISTS)
INVALID_STREAM_NAME = _find_status(statuses.INVALID_STREAM_NAME)
INVALID_STREAM_ID = _find_status(statuses.INVALID_STREAM_ID)
TOPIC_ID_NOT_FOUND = _find_status(statuses.TOPIC_ID_NOT_FOUND)
TOPIC_NAME_NOT_FOUND = _find_status(statuses.TOPIC_NAME_NOT_FOUND)
TOPIC_ID_ALREADY_EXISTS = _find_status(statuses.TOPIC_ID_ALREADY_EXISTS)
TOPIC_NAME_ALREADY_EXISTS = _find_status(statuses.TOPIC_NAME_ALREADY_EXISTS)
INVALID_TOPIC_NAME = _find_status(statuses.INVALID_TOPIC_NAME)
TOO_MANY_PARTITIONS = _find_status(statuses.TOO_MANY_PARTITIONS)
INVALID_TOPIC_ID = _find_status(statuses.INVALID_TOPIC_ID)
PARTITION_NOT_FOUND = _find_status(statuses.PARTITION_NOT_FOUND)
NO_PARTITIONS = _find_status(statuses.NO_PARTITIONS)
INVALID_MESSAGES_COUNT = _find_status(statuses.INVALID_MESSAGES_COUNT)
CANNOT_READ_MESSAGE = Status(4011, "cannot_read_message")
CANNOT_READ_MESSAGE_ID = Status(4012, "cannot_read_message_id")
CANNOT_READ_MESSAGE_STATE = Status(4013, "cannot_read_message_state")
CANNOT_READ_MESSAGE_TIMESTAMP = _find_status(statuses.CANNOT_READ_MESSAGE_TIMESTAMP)
CANNOT_READ_HEADERS_LENGTH = Status(4015, "cannot_read_headers_length")
CANNOT_READ_HEADERS_PAYLOAD = Status(4016, "cannot_read_headers_payload")
TOO_BIG_HEADERS_PAYLOAD = _find_status(statuses.TOO_BIG_HEADERS_PAYLOAD)
INVALID_HEADER_KEY = _find_status(statuses.INVALID_HEADER_KEY)
INVALID_HEADER_VALUE = _find_status(statuses.INVALID_HEADER_VALUE)
CANNOT_READ_MESSAGE_LENGTH = Status(4020, "cannot_read_message_length")
CANNOT_READ_MESSAGE_PAYLOAD = _find_status(statuses.CANNOT_READ_MESSAGE_PAYLOAD)
TOO_BIG_MESSAGE_PAYLOAD = _find_status(statuses.TOO_BIG_MESSAGE_PAYLOAD)
EMPTY_MESSAGE_PAYLOAD = _find_status(statuses.EMPTY_MESSAGE_PAYLOAD)
CANNOT_READ_MESSAGE_CHECKSUM = Status(4026, "cannot_read_message_checksum")
INVALID_MESSAGE_CHECKSUM = Status(4027, "invalid_message_checksum")
INVALID_KEY_VALUE_LENGTH = _find_status(statuses.INVALID_KEY_VALUE_LENGTH)
INVALID_OFFSET = _find_status(statuses.INVALID_OFFSET)
CONSUMER_GROUP_NOT_FOUND = _find_status(statuses.CONSUMER_GROUP_NOT_FOUND)
CONSUMER_GROUP_ALREADY_EXISTS = _find_status(statuses.CONSUMER_GROUP_ALREADY_EXISTS)
CONSUMER_GROUP_MEMBER_NOT_FOUND = _find_status(statuses.CONSUMER_GROUP_MEMBER_NOT_FOUND)
INVALID_CONSUMER_GROUP_ID = _find_status(statuses.INVALID_CONSUMER_GROUP_ID)


class Refusal(Exception):
    """Raised to refuse a request with a status; the reason is for people."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = reason


def invalid_command() -> Refusal:
    """Return the refusal of a malformed or unknown command."""
    return Refusal(INVALID_COMMAND, "Invalid command")
