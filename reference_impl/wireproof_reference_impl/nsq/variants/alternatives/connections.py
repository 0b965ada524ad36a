"""Alternatives of connections: IDENTIFY, what closes them, and what a departed client held."""

from collections.abc import Callable, Sequence

from wireproof_reference_impl.nsq.core.commands import identify as identify_command
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.states import State
from wireproof_reference_impl.nsq.delivery.in_flight import Held, InFlight
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.overrides import Original, around, replace_function
from wireproof_reference_impl.preset import Preset, alternative
from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.error_codes import (
    E_BAD_BODY,
    E_FIN_FAILED,
    E_INVALID,
    E_REQ_FAILED,
    E_TOUCH_FAILED,
)
from wireproof_spec.nsq.names import FIN, HEARTBEAT, IDENTIFY, OK

_BEFORE_IDENTIFY = frozenset({IDENTIFY, b"AUTH", b"NOP"})
_HARMLESS = frozenset({E_FIN_FAILED, E_REQ_FAILED, E_TOUCH_FAILED})
_LEAST_TIMEOUT_MS = 2_000
_MOST_TAG_BYTES = 16


def _identify_first(original: Original, connection: Connection, words: Sequence[bytes]) -> None:
    if not connection.identified and words[0] not in _BEFORE_IDENTIFY:
        raise Refusal(E_INVALID, "IDENTIFY is needed first")
    original(connection, words)


def _always_fatal(command: bytes, code: str, fatal: bool) -> bool:
    """Return True but for the codes that the base protocol calls harmless."""
    return code not in _HARMLESS


def _never_fatal(command: bytes, code: str, fatal: bool) -> bool:
    """Return False where the next command can still be found: the line alone was refused."""
    return fatal and code not in _LINE_CODES


_LINE_CODES = frozenset(
    {
        error_codes.E_SUB_ORDER_IS_MUST,
        error_codes.E_SUB_EXTEND_NEED,
        error_codes.E_SUB_EXTEND_FORBIDDON,
    }
)


def _takes_none(in_flight: InFlight, subscriber: Subscriber) -> list[Held]:
    return []


def _answer_ok(original: Original, connection: Connection, data: bytes) -> None:
    is_answer = connection.command == IDENTIFY and data != HEARTBEAT
    original(connection, OK if is_answer else data)


def _longer_timeout(original: Callable[..., int], value: int) -> int:
    return max(original(value), _LEAST_TIMEOUT_MS)


def _short_plain_tag(original: Callable[..., str], value: str) -> str:
    plain = value.isascii() and value.replace("_", "").isalnum()
    if value and not (plain and len(value) <= _MOST_TAG_BYTES):
        raise Refusal(E_BAD_BODY, "IDENTIFY desired_tag is not valid")
    return original(value)


def _no_fin_after_cls(original: Original, connection: Connection, words: Sequence[bytes]) -> None:
    if words[0] == FIN and connection.state is State.CLOSING:
        raise Refusal(E_INVALID, "FIN after CLS")
    original(connection, words)


ALTERNATIVES: tuple[Preset, ...] = (
    alternative(
        "no-fin-after-cls",
        "FIN is refused after CLS",
        overrides=(around(Connection, "run_command", _no_fin_after_cls),),
    ),
    alternative(
        "identify-first",
        "every command before IDENTIFY is refused",
        overrides=(around(Connection, "run_command", _identify_first),),
    ),
    alternative(
        "identify-always-ok",
        "IDENTIFY is answered with OK, also where JSON is asked for",
        overrides=(around(Connection, "respond", _answer_ok),),
        not_with="identify-always-json json-backwards",
    ),
    alternative(
        "refusals-end-connections",
        "every refused command closes the connection",
        {"output.fatal": _always_fatal},
    ),
    alternative(
        "refusals-leave-connections",
        "a refused subscription leaves the connection open",
        {"output.fatal": _never_fatal},
    ),
    alternative(
        "left-stays-in-flight",
        "what a departed client held stays in flight until its time-out",
        overrides=(replace_function(InFlight, "take_all", _takes_none),),
        not_with="attempts-counted-when-left",
    ),
    alternative(
        "time-out-two-seconds",
        "a message times out after two seconds at the earliest",
        overrides=(around(identify_command, "_message_timeout", _longer_timeout),),
    ),
    alternative(
        "tags-short-and-plain",
        "IDENTIFY refuses a desired_tag that is long or has other than letters and digits",
        overrides=(around(identify_command, "_desired_tag", _short_plain_tag),),
    ),
)
