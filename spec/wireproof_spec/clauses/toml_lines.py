"""Lines of a TOML text, for messages: the parsers name a value by its path alone."""

import re

_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


def find_line(text: str, path: str) -> int | None:
    """Return the line of the value at a path such as ``.clause[2].case[0].accept``.

    The text has each table of an array under a header of its own, ``[[clause.case]]``. The line is
    that of the key, of the table's header if the key is not there, or None if neither is found.
    """
    lines, at, header = text.splitlines(), 0, ""
    for name, index in _STEP.findall(path):
        if index:
            starts = [n for n, line in enumerate(lines) if n >= at and line == f"[[{header}]]"]
            if len(starts) <= int(index):
                break
            at = starts[int(index)]
            continue
        key = re.compile(rf"{name}\s*=")
        for number in range(at + (at > 0), len(lines)):
            if key.match(lines[number]):
                return number + 1
            if lines[number].startswith("[["):
                break
        header = f"{header}.{name}" if header else name
    return at + 1 if at else None
