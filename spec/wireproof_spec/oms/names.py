"""The names in a message, its header and its extension header, and their types."""

from enum import Enum


class Type(Enum):
    """The types that the OpenMessaging text gives to attributes."""

    LONG = "Long"
    INTEGER = "Integer"
    STRING = "String"


class Kind(Enum):
    """The content of a document: a whole message, or only an extension header."""

    MESSAGE = "message"
    EXTENSION_HEADER = "extensionHeader"


LIMITS = {Type.LONG: (-(2**63), 2**63 - 1), Type.INTEGER: (-(2**31), 2**31 - 1)}

STORE_TIMESTAMP = "storeTimestamp"
STORE_HOST = "storeHost"
CORRELATION_ID = "correlationId"
MESSAGE_KEY = "messageKey"
DELAY_TIME = "delayTime"
EXPIRE_TIME = "expireTime"
TRACE_ID = "traceId"
TRANSACTION_ID = "transactionId"
DELIVERY_COUNT = "deliveryCount"
PRIORITY = "priority"
PARTITION = "partition"

ATTRIBUTES = {
    STORE_TIMESTAMP: Type.LONG,
    STORE_HOST: Type.STRING,
    CORRELATION_ID: Type.STRING,
    MESSAGE_KEY: Type.STRING,
    DELAY_TIME: Type.LONG,
    EXPIRE_TIME: Type.LONG,
    TRACE_ID: Type.STRING,
    TRANSACTION_ID: Type.STRING,
    DELIVERY_COUNT: Type.INTEGER,
    PRIORITY: Type.INTEGER,
    PARTITION: Type.INTEGER,
}
"""The eleven attributes of the extension header, in the order of the text."""

MESSAGE_ID = "messageId"
BORN_TIMESTAMP = "bornTimestamp"
BORN_HOST = "bornHost"
QOS = "qos"
COMPRESSION = "compression"
DESTINATION = "destination"

HEADER_ATTRIBUTES = {
    MESSAGE_ID: Type.STRING,
    BORN_TIMESTAMP: Type.LONG,
    BORN_HOST: Type.STRING,
    QOS: Type.INTEGER,
    COMPRESSION: Type.STRING,
    DESTINATION: Type.STRING,
}
"""The attributes of a message's header."""

MESSAGE = "message"
VERSION = "version"
HEADER = "header"
EXTENSION_HEADER = "extensionHeader"
PROPERTIES = "properties"
DATA = "data"

PARTS = (VERSION, HEADER, EXTENSION_HEADER, PROPERTIES, DATA)
"""The parts of a message."""

QOS_VALUES = (0, 1, 2)
"""At least once, at most once, exactly once; 0 is the default."""

LOWEST_PRIORITY, HIGHEST_PRIORITY, DEFAULT_PRIORITY = 1, 10, 5
