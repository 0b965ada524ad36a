"""The exact command by which a run can be repeated, from what the run was given."""

import shlex
from collections.abc import Iterator, Sequence

from wireproof.options.target_choice import REFERENCE

_OWN_NAMES = {
    "--wireproof-exclude": "--exclude",
    "--timeout-seconds": "--timeout",
    "--waiters": "-n",
}
_NOT_ITS_OWN = ("--bundle", "--lf")
"""What belongs to one run alone: where it was kept, and what had failed before it."""


def command_line(options: Sequence[str]) -> str:
    """Return the ``wireproof run`` that makes the same run of these options of the plug-in."""
    return shlex.join(["wireproof", "run", *_words(options)])


def _words(options: Sequence[str]) -> Iterator[str]:
    has_prefixes = any(option.startswith("--wireproof-select=") for option in options)
    words = iter(options)
    for option in words:
        name, equals, value = option.partition("=")
        if name in _NOT_ITS_OWN or (name == "--reference-protocol" and has_prefixes):
            continue
        if name == "--broker-url":
            yield f"--{REFERENCE}" if value == REFERENCE else value
        elif name in ("--wireproof-select", "--reference-protocol"):
            yield value
        elif name == "-k":
            yield from (name, next(words))
        else:
            yield from (_OWN_NAMES.get(name, name), value) if equals else (option,)
