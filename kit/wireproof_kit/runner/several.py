"""Arguments that have several values on a target: a case runs once for each value."""

from wireproof_kit.errors import KitError
from wireproof_kit.protocols import kit_part, read_target

Several = tuple[tuple[str, tuple[str, ...]], ...]
"""Arguments of cases of which a target has several values, each with the names of these."""


def several_of(url: str | None) -> Several:
    """Return the values that a target has of case arguments, such as its documents.

    Return nothing if no target is given or it cannot be opened: opening it later reports why.
    """
    if url is None:
        return ()
    try:
        target = read_target(url)
        several = kit_part(target.protocol).several
        return tuple((name, tuple(names(target))) for name, names in several.items())
    except KitError:
        return ()
