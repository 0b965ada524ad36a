"""INTERNAL_CREATE_TOPIC: creates a topic on a node without a cluster."""

from collections.abc import Sequence

from wireproof_reference_impl.nsq.core.commands import partition_word
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.nsq.wire.words import BadWord, boolean, show
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.limits import MAX_PARTITION
from wireproof_spec.nsq.names import OK, is_valid_name


def create_topic(connection: Connection, words: Sequence[bytes]) -> None:
    """Run CREATE_TOPIC: create one partition of a topic; a topic that exists stays as it is."""
    if len(words) < 3:
        text = "CREATE_TOPIC insufficient number of parameters"
        raise Refusal(error_codes.E_INVALID, text)
    name = show(words[1])
    if not is_valid_name(name):
        raise Refusal(error_codes.E_BAD_TOPIC, f'topic name "{name}" is not valid')
    number = partition_word.partition_number(words[2], error_codes.E_BAD_PARTITION)
    connection.authorize("CREATE_TOPIC")
    if number < 0:
        raise Refusal(error_codes.E_BAD_PARTITION, "partition should not less than 0")
    extend = _extend(words[3]) if len(words) > 3 else False
    if connection.node.clustered:
        text = "CREATE_TOPIC is not allowed here while cluster feature enabled."
        raise Refusal(error_codes.E_CREATE_TOPIC_FAILED, text, fatal=False)
    if number > MAX_PARTITION:
        text = f"CREATE_TOPIC {name} failed"
        raise Refusal(error_codes.E_CREATE_TOPIC_FAILED, text, fatal=False)
    try:
        connection.node.create(name, range(number, number + 1), extend=extend, ordered=False)
    except OSError as error:
        text = f"CREATE_TOPIC {name} failed"
        raise Refusal(error_codes.E_CREATE_TOPIC_FAILED, text, fatal=False) from error
    connection.respond(OK)


def _extend(word: bytes) -> bool:
    try:
        return boolean(word)
    except BadWord as error:
        raise Refusal(error_codes.E_BAD_EXT, f"topic ext is not valid: {error}") from error
