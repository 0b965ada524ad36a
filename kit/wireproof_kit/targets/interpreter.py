"""How processes of our own Python modules are started."""

import sys


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module in a new interpreter.

    Plain ``-m`` puts the current folder first on the import path: a file ``json.py`` in the user's
    folder would be executed. ``-P`` leaves the folder out.
    """
    return [sys.executable, "-P", "-m", module, *arguments]
