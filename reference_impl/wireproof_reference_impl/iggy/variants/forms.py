"""Permitted alternatives: other forms of requests and responses that some text gives."""

from collections.abc import Mapping

from wireproof_reference_impl.iggy.core.commands import messages, published, reading, tagged
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.session import Action, CommandContext, Handler
from wireproof_reference_impl.iggy.generations import TAGGED_SETTINGS
from wireproof_reference_impl.iggy.wire import framing
from wireproof_reference_impl.iggy.wire.checks import check_stream, check_topic
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.identifier import read_identifier
from wireproof_reference_impl.iggy.wire.polled import Polled
from wireproof_reference_impl.iggy.wire.status import UNAUTHENTICATED, Refusal, invalid_command
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import Preset, alternative
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.frame import STATUS_SIZE
from wireproof_spec.iggy.statuses import OK


def _no_head(found: Polled) -> bytes:
    return b""


def _count_status(original: Original, status: int, body: bytes) -> object:
    frame = original(status, body)
    assert isinstance(frame, bytes)
    length = (len(body) + STATUS_SIZE).to_bytes(4, "little")
    return frame if status != OK else frame[:4] + length + frame[8:]


def _number(fields: Fields) -> int:
    """Read a number that stands in an identifier."""
    identifier = read_identifier(fields)
    if not isinstance(identifier, int):
        raise invalid_command()
    return identifier


def _name(fields: Fields) -> str:
    name = reading.text(fields.take(fields.u8()))
    fields.expect_end()
    return name


def _create_stream(fields: Fields) -> Action:
    number, name = _number(fields), _name(fields)
    check_stream(number, name)

    def act(session: CommandContext) -> bytes:
        session.server.create_stream(number, name, session.now_us)
        return b""

    return act


def _create_topic(fields: Fields) -> Action:
    stream, number, partitions = read_identifier(fields), _number(fields), fields.u32()
    name = _name(fields)
    check_topic(number, name, partitions)

    def act(session: CommandContext) -> bytes:
        session.server.create_topic(
            stream, number, name, partitions=partitions, now_us=session.now_us
        )
        return b""

    return act


def _handling(handlers: Mapping[int, Handler]) -> Override:
    """Return the override under which these handlers stand in the place of the usual ones."""

    def handler(original: Original, connection: Connection, code: int) -> object:
        return handlers.get(code) or original(connection, code)

    return around(Connection, "handler", handler)


def _login_first(original: Original, connection: Connection, frame: bytes) -> object:
    """Refuse every command before a login, ping included."""
    fields = Fields(frame)
    if int.from_bytes(fields.take(framing.CODE_BYTES), "little") == commands.LOGIN_USER:
        return tagged.COMMANDS[commands.LOGIN_USER](fields)
    action = original(connection, frame)
    assert callable(action)

    def act(session: CommandContext) -> object:
        if session.client.user is None:
            raise Refusal(UNAUTHENTICATED, "Unauthenticated")
        return action(session)

    return act


ALTERNATIVES: tuple[Preset, ...] = (
    alternative(
        "polls-without-head",
        "nothing stands in front of polled messages, as in the text before crate 0.0.60",
        {"message.head": _no_head},
        not_with="nothing-is-no-error",
    ),
    alternative(
        "lengths-count-status",
        "the length of a success response counts the status, as in the Iggy schema",
        overrides=(around(framing, "response", _count_status),),
    ),
    alternative(
        "creates-of-schema",
        "requests to create streams and topics have the form of the Iggy schema",
        overrides=(
            _handling(
                {
                    commands.CREATE_STREAM: _create_stream,
                    commands.CREATE_TOPIC: _create_topic,
                }
            ),
        ),
        not_with="creates-of-tagged",
    ),
    alternative(
        "creates-of-tagged",
        "requests to create streams and topics have the form of tagged servers",
        overrides=(
            _handling(
                {
                    code: tagged.COMMANDS[code]
                    for code in (commands.CREATE_STREAM, commands.CREATE_TOPIC)
                }
            ),
        ),
    ),
    alternative(
        "stored-offset-of-text",
        "the answer about a stored offset has partition, current offset and stored offset",
        {"json.stored_offset": TAGGED_SETTINGS["json.stored_offset"]},
        overrides=(
            _handling(
                {
                    commands.GET_CONSUMER_OFFSET: messages.get_consumer_offset(
                        published.read_consumer,
                        published.read_partition,
                        tagged.stored_offset_body,
                    )
                }
            ),
        ),
    ),
    alternative(
        "login-before-all",
        "every command, ping included, is refused before a login",
        overrides=(around(Connection, "read", _login_first),),
    ),
)
