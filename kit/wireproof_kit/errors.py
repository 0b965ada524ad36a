"""The kit's own errors: each message is one sentence that a user can act on."""

from wireproof_kit.wire.transcript import Transcript


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
