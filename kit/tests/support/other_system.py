"""Run ``wireproof`` without what Linux has and macOS or Windows lacks.

    python other_system.py macos|windows ARGUMENTS…

What the standard library needs on this machine is imported first; then the modules and names are
taken away. What a system does differently with a name that it has, this cannot show. The value of
`sys.platform` stays: with another the standard library asks for modules that are not here.
"""

import asyncio
import importlib.abc
import importlib.machinery
import multiprocessing
import os
import resource
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from types import ModuleType
from typing import Final

LINUX_ALONE: Final = {
    os: ("pidfd_open", "sched_getaffinity", "sched_setaffinity", "waitid", "P_PID"),
    signal: ("pidfd_send_signal",),
    resource: ("prlimit",),
    select: ("epoll",),
    selectors: ("EpollSelector",),
    socket: ("SO_DOMAIN", "TCP_INFO", "TCP_USER_TIMEOUT", "TCP_KEEPIDLE"),
}
"""Names that macOS lacks, some until Python 3.13."""
POSIX_ALONE: Final = {
    os: ("fork", "killpg", "getuid", "geteuid", "register_at_fork", "sysconf", "setsid"),
    signal: ("SIGKILL", "SIGHUP", "SIGALRM"),
    socket: ("AF_UNIX", "SOCK_SEQPACKET"),
}
POSIX_MODULES: Final = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty")
PREPARED: Final = (asyncio, multiprocessing, subprocess, tempfile)


class Absent(importlib.abc.MetaPathFinder):
    """A finder for which some modules do not exist."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Refuse a module that the other system lacks; leave all others to the next finder."""
        if fullname in POSIX_MODULES:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def become(system: str) -> None:
    """Take away what a system lacks."""
    selectors.DefaultSelector = selectors.PollSelector  # type: ignore[assignment,misc]  # a class that is a variable here
    lacking = [LINUX_ALONE, *([POSIX_ALONE] if system == "windows" else [])]
    for module, names in (item for table in lacking for item in table.items()):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    if system == "windows":
        sys.meta_path.insert(0, Absent())
        for name in POSIX_MODULES:
            sys.modules.pop(name, None)


if __name__ == "__main__":
    become(sys.argv[1])
    from wireproof.main import main

    raise SystemExit(main(sys.argv[2:]))
