"""Writes output lines; a closed pipe does not end a run."""

import os
from collections.abc import Iterable
from typing import IO


def write_lines(out: IO[str], lines: Iterable[str]) -> None:
    """Write and flush lines; after the pipe is closed, discard them."""
    try:
        for line in lines:
            out.write(f"{line}\n")
        out.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, out.fileno())
        os.close(nowhere)
