"""The terminal that a command writes to: its width, and whether its cursor can be moved.

It imports nothing of the kit, since help needs it too.
"""

import os
import shutil

FEWEST, MOST = 40, 80
"""Columns of a line: as the terminal or the variable COLUMNS has them, within these limits."""


def columns() -> int:
    """Return the width of a line, 40 to 80 columns; 80 where there is no terminal."""
    return min(max(shutil.get_terminal_size((MOST, 24)).columns, FEWEST), MOST)


def is_dumb() -> bool:
    """Return True if the terminal can neither move its cursor nor show colours."""
    return os.environ.get("TERM") == "dumb"
