"""What an extra of the distribution brings, as a command that installs it."""

import shlex
import shutil
import sys
from importlib import metadata
from importlib.util import find_spec

DISTRIBUTION = "wireproof"


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra of wireproof into this Python.

    The command names the packages themselves: wireproof may be installed from a file or a
    repository, and then no package index has it.
    """
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        required = []
    lines = (line.partition(";") for line in required)
    names = [
        name.strip()
        for name, _, marker in lines
        if marker.replace("'", '"').strip() == f'extra == "{extra}"'
    ]
    return _install(shlex.join(names)) if names else f"install its extra {extra}"


def _install(packages: str) -> str:
    """Return the command of pip, or where this Python has none, of uv or of the pip it brings."""
    if find_spec("pip") is not None:
        return f"pip install {packages}"
    python = shlex.quote(sys.executable)
    if shutil.which("uv") is not None:
        return f"uv pip install {packages} --python {python}"
    return f"{python} -m ensurepip && {python} -m pip install {packages}"
