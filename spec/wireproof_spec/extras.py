"""What an extra of the distribution brings, as a command that installs it."""

import shlex
from importlib import metadata

DISTRIBUTION = "wireproof"


def install_command(extra: str) -> str:
    """Return the pip command that installs the packages of an extra of wireproof.

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
    return f"pip install {shlex.join(names)}" if names else f"install its extra {extra}"
