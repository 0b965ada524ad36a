"""Our own errors: each is one sentence a user can act on."""


class KitError(Exception):
    """Something kept the kit from doing its job; ``str()`` is the whole sentence."""


class UsageFault(KitError):
    """An option, file, id or URL given by the user is not right."""


class TargetUnreachable(KitError):
    """The target does not accept connections."""


class TargetSilent(KitError):
    """The target accepts connections but does not speak the protocol within patience."""


class ArrangementFailed(KitError):
    """A step that only prepares an experiment (connect, identify, create) went wrong.

    It carries the answer in words; the case it happened in decides nothing by itself.
    """
