"""The command line of a client: names in braces are replaced by values, anew for each case."""

import re
from collections.abc import Mapping, Sequence

from wireproof_kit.drivers.child import split_command
from wireproof_kit.errors import UsageFault

PREFIX = "WIREPROOF_"
_BRACES = re.compile(r"\{([a-z_]+)\}")


def check_command(command: str, known: Sequence[str], option: str = "--exec") -> None:
    """Check that a command line can be split, and that all names in braces are known.

    ``option`` is the option that the command line was given with, for messages.

    Raises:
        UsageFault: the command cannot be split, or names something else.
    """
    for word in split_command(command, option):
        for name in _BRACES.findall(word):
            if name not in known:
                listed = ", ".join(f"{{{each}}}" for each in known)
                raise UsageFault(f"{option}: {{{name}}} is unknown; the kit fills in {listed}")


def fill_in(command: str, values: Mapping[str, str]) -> list[str]:
    """Return the words of a command line, with names in braces replaced by values."""
    return [
        _BRACES.sub(lambda found: values.get(found[1], found[0]), word)
        for word in split_command(command)
    ]


def environment(values: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables with the same values as the command line."""
    return {f"{PREFIX}{name.upper()}": value for name, value in values.items()}
