"""Writes output lines; nothing that others wrote acts on the terminal, a closed pipe ends no run.

Every line of a command comes through here, so that a text which was not made printable before
(a file's name, a broker's words in an error) cannot move the cursor or turn the writing round.
"""

import os
import re
import sys
from collections.abc import Iterable
from typing import IO

import click

from wireproof.view.style import COLOUR_CODES
from wireproof_kit.decoding.printable import escape_unprintable

_COLOURS = re.compile(f"(\x1b\\[(?:{'|'.join(COLOUR_CODES)})m)")


def inert(line: str) -> str:
    """Return a line with unprintable characters escaped, except the colour codes of `Style`."""
    if line.isprintable():
        return line
    pieces = _COLOURS.split(line)
    return "".join(
        piece if odd else escape_unprintable(piece)
        for pair in zip(pieces[::2], [*pieces[1::2], ""], strict=True)
        for odd, piece in enumerate(pair)
    )


def echo(text: str, *, err: bool = False, color: bool | None = None) -> None:
    """Write a text of one or more lines to stdout, or to stderr."""
    # click would write UTF-8 to a stream in ASCII, unless it is given the stream.
    click.echo(
        "\n".join(map(inert, text.split("\n"))), sys.stderr if err else sys.stdout, color=color
    )


def write_lines(out: IO[str], lines: Iterable[str]) -> None:
    """Write and flush lines; after the reader has closed the pipe, discard them."""
    try:
        for line in lines:
            out.write(f"{inert(line)}\n")
        out.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, out.fileno())
        os.close(nowhere)
