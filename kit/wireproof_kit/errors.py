"""The kit's own errors: each message is one sentence that a user can act on."""

import errno

from wireproof_kit.observation import Observation
from wireproof_kit.wire.transcript import Transcript

_EXHAUSTED = {
    errno.EMFILE: "open files of this process",
    errno.ENFILE: "open files of this machine",
    errno.ENOBUFS: "network buffers",
    errno.ENOMEM: "memory",
    errno.EAGAIN: "processes, threads or ports",
}
_NO_THREAD = "can't start new thread"


class KitError(Exception):
    """The kit could not do its work; the error's text is a complete sentence for the user."""


class UsageFault(KitError):
    """An option, file, id or URL given by the user is invalid."""


class TargetUnreachable(KitError):
    """The target does not accept connections."""


class TargetSilent(KitError):
    """The target accepts connections but does not answer in its protocol within patience."""


class ArrangementFailed(KitError):
    """A step that prepares a case (connect, identify, create a topic) failed.

    The error has the target's answer in words, and the step's transcript if the case's own
    transcript does not contain it. The case is then undecided.
    """

    def __init__(self, text: str, transcript: Transcript | None = None) -> None:
        super().__init__(text)
        self.transcript = transcript


class RestartFailed(KitError):
    """The user's command does not bring the dead target back: no further case can be run."""


class Exhausted(KitError):
    """The kit has used up open files, memory, ports, threads or processes."""


def refuse_exhausted(error: Exception, host: str = "") -> None:
    """Raise `Exhausted` if an error says that this process or machine has used something up.

    ``error`` comes of opening a file or a connection to ``host``, or of starting a thread or
    process. For an IPv4 address no local port is left; a name may also stand for an IPv6 address
    that this machine cannot reach.

    Raises:
        Exhausted: see above.
    """
    if what := _name_exhausted(error, host):
        raise Exhausted(f"the kit has used up its {what}; see `wireproof doctor`") from error


def is_exhausted(error: BaseException) -> bool:
    """Return True if an error says that this process or machine has used something up."""
    return bool(_name_exhausted(error, ""))


def _name_exhausted(error: BaseException, host: str) -> str:
    if isinstance(error, MemoryError):
        return _EXHAUSTED[errno.ENOMEM]
    if isinstance(error, RuntimeError) and str(error).startswith(_NO_THREAD):
        return "threads"
    if not isinstance(error, OSError):
        return ""
    if error.errno == errno.EADDRNOTAVAIL and host.replace(".", "").isdigit():
        return "local ports"
    return _EXHAUSTED.get(error.errno or 0, "")


class AllowedRefused(KitError):
    """The target refused what a clause allows: the case fails by the observation of the answer."""

    def __init__(self, observation: Observation) -> None:
        super().__init__(observation.value)
        self.observation = observation
