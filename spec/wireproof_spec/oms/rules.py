"""The rules that a document alone can violate, by clause."""

from collections.abc import Callable

from wireproof_spec.oms import extension_header, message, whole
from wireproof_spec.oms.document import Document
from wireproof_spec.oms.rule_result import RuleResult

Rule = Callable[[Document], RuleResult]

RULES: dict[str, Rule] = {
    "oms.document.unique-name": whole.unique_name,
    "oms.document.printable": whole.printable,
    "oms.document.known-name": whole.known_name,
    "oms.extension-header.dictionary": extension_header.dictionary,
    "oms.extension-header.value": extension_header.value,
    "oms.extension-header.number": extension_header.number,
    "oms.extension-header.text": extension_header.text,
    "oms.extension-header.delivery-count": extension_header.delivery_count,
    "oms.extension-header.expiry": extension_header.expiry,
    "oms.message.wrapper": message.wrapper,
    "oms.message.version": message.version,
    "oms.message.header": message.header,
    "oms.message.properties": message.properties,
    "oms.message.value": message.value,
    "oms.message.data": message.data,
    "oms.message.message-id": message.message_id,
    "oms.message.born-timestamp": message.born_timestamp,
    "oms.message.born-host": message.born_host,
    "oms.message.qos": message.qos,
    "oms.message.destination": message.destination,
    "oms.message.compression": message.compression,
}
