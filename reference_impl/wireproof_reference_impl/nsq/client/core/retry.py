"""What a producer does about an error: the table of document 004, and what it leaves open."""

from collections.abc import Mapping
from enum import Enum

from wireproof_reference_impl.nsq.client.core.settings import Settings
from wireproof_spec.nsq import error_codes


class Verdict(Enum):
    """What a producer does about a refused publish: report failure, repeat, or look up again."""

    FAIL = "tell the user"
    AGAIN = "publish it again"
    REFRESH = "look up again, then publish it again"


TABLE: Mapping[str, Verdict] = {
    # There is something wrong with the message: no node will take it.
    error_codes.E_BAD_MESSAGE: Verdict.FAIL,
    error_codes.E_BAD_BODY: Verdict.FAIL,
    error_codes.E_BAD_TOPIC: Verdict.FAIL,
    error_codes.E_EXT_NOT_SUPPORT: Verdict.FAIL,
    error_codes.E_INVALID_JSON_HEADER: Verdict.FAIL,
    error_codes.INVALID_TRACE_ID: Verdict.FAIL,
    # The node is the wrong one. Deployed nodes say E_TOPIC_NOT_EXIST of a partition that they
    # have no copy of, where the text would have them say E_FAILED_ON_NOT_LEADER.
    error_codes.E_FAILED_ON_NOT_LEADER: Verdict.REFRESH,
    error_codes.E_FAILED_ON_NOT_WRITABLE: Verdict.REFRESH,
    error_codes.E_TOPIC_NOT_EXIST: Verdict.REFRESH,
    # The node may do better next time.
    error_codes.E_INVALID: Verdict.AGAIN,
    error_codes.E_PUB_FAILED: Verdict.AGAIN,
    error_codes.E_PUB_TOO_MUCH_WAITING: Verdict.AGAIN,
}


def judge(code: str) -> Verdict:
    """Return what to do about a publish refused with this code; unknown ones are reported."""
    return TABLE.get(code, Verdict.FAIL)


def may_repeat(settings: Settings, attempts: int) -> bool:
    """Return True if a publish may be repeated after so many attempts."""
    return attempts < settings.publish_attempts


def repeat_delay(settings: Settings, attempts: int) -> float:
    """Return the seconds to wait before a publish is repeated after so many attempts."""
    return settings.publish_retry_s * 2.0 ** (attempts - 1)


def budget(settings: Settings) -> float:
    """Return the seconds after which a publish that still waits is reported as failed."""
    # Each attempt may need a lookup before it.
    each = settings.publish_timeout_s + settings.lookup_timeout_s
    return each * settings.publish_attempts
