"""The documents of stored messages: after sending, and as consumers get them."""

import base64
from collections.abc import Mapping

from wireproof_reference_impl.oms.behaviour import Behaviour
from wireproof_reference_impl.oms.core import body
from wireproof_reference_impl.oms.core.message import Message
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue

JsonObject = dict[str, JsonValue]


def sent_document(message: Message, behaviour: Behaviour) -> JsonObject:
    """Return the document of a message as its sender sees it after sending."""
    return message_document(message, attributes(message, behaviour))


def delivered_document(message: Message, count: int, behaviour: Behaviour) -> JsonObject:
    """Return the document of a message as a consumer gets it at its `count`th delivery, from 1."""
    told = {names.DELIVERY_COUNT: told_count(count, behaviour)}
    return message_document(message, {**attributes(message, behaviour), **told})


def message_document(message: Message, extension_header: JsonObject) -> JsonObject:
    """Return the document of a message with this extension header."""
    parts: JsonObject = {
        names.VERSION: message.sent.version,
        names.HEADER: header(message),
        names.EXTENSION_HEADER: extension_header,
        names.PROPERTIES: dict(message.sent.properties),
    }
    data = body.unpack(message.data, message.sent.header.get(names.COMPRESSION))
    if data is not None:
        parts[names.DATA] = base64.b64encode(data).decode()
    return {names.MESSAGE: parts}


def header(message: Message) -> JsonObject:
    """Return the header of a message: the sender's fields, replaced where the server sets them."""
    return {
        names.QOS: 0,
        **message.sent.header,
        names.MESSAGE_ID: message.id,
        names.BORN_TIMESTAMP: message.born,
        names.BORN_HOST: message.born_host,
        names.DESTINATION: message.sent.destination,
    }


def attributes(message: Message, behaviour: Behaviour) -> JsonObject:
    """Return the extension header: the sender's attributes, replaced where the server sets any."""
    told: JsonObject = {
        **without_server_attributes(message.sent.extension_header),
        names.STORE_TIMESTAMP: store_timestamp(message, behaviour),
        names.STORE_HOST: message.store_host,
        names.PARTITION: message.partition + behaviour.first_partition,
        **behaviour.further_attributes,
    }
    if message.transaction_id is not None:
        told[names.TRANSACTION_ID] = message.transaction_id
    return told | told_priority(message, behaviour)


def without_server_attributes(extension_header: Mapping[str, JsonValue]) -> JsonObject:
    """Return a sender's extension header without what only servers set, as deliveryCount."""
    ours = (names.STORE_TIMESTAMP, names.STORE_HOST, names.DELIVERY_COUNT)
    return {name: value for name, value in extension_header.items() if name not in ours}


def store_timestamp(message: Message, behaviour: Behaviour) -> int:
    """Return when a message was stored; some servers store a delayed one again when it is due."""
    return max(message.stored, message.due) if behaviour.stores_again_when_due else message.stored


def told_count(count: int, behaviour: Behaviour) -> int:
    """Return the deliveryCount in the `count`th delivery, from 1 (reading `oms-count-base`)."""
    return count - 1 + behaviour.count_base


def told_priority(message: Message, behaviour: Behaviour) -> JsonObject:
    """Return the priority attribute as consumers get it: the effective one, even if unset."""
    sent = message.sent.number(names.PRIORITY)
    if sent is None and not behaviour.tells_default_priority:
        return {}
    told = sent if sent is not None and behaviour.tells_priority_as_sent else message.priority
    return {names.PRIORITY: told}
