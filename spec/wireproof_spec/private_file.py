"""Files with exchanges: what a broker was told and said is for nobody but their owner."""

import os
from pathlib import Path

MODE = 0o600


def make_private(path: Path) -> Path:
    """Create a file that only its owner may read, or close an existing one to others; return it.

    A device or a pipe stays as it is.

    Raises:
        OSError: the file cannot be created or belongs to somebody else.
    """
    if path.exists() and not path.is_file():
        return path
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, MODE)
    try:
        if os.fstat(descriptor).st_mode & 0o777 != MODE:
            os.fchmod(descriptor, MODE)
    finally:
        os.close(descriptor)
    return path


def make_own(path: Path) -> Path:
    """Create a private file whose name is ours, in a folder of the user's; return it.

    A symbolic link of that name, which somebody else may have left there, is replaced.

    Raises:
        OSError: as `make_private`.
    """
    if path.is_symlink():
        path.unlink()
    return make_private(path)
