"""Arguments that have several values on a target: a case runs once for each value."""

from collections.abc import Mapping, Sequence

from wireproof_kit.errors import KitError
from wireproof_kit.protocols import kit_part, read_target


def several_of(url: str | None) -> Mapping[str, Sequence[str]]:
    """Return the names of items that a target has several of, by argument of cases.

    Return nothing if no target is given or it cannot be opened: opening it later reports why.
    """
    if url is None:
        return {}
    try:
        target = read_target(url)
        several = kit_part(target.protocol).several
        return {name: names(target) for name, names in several.items()}
    except KitError:
        return {}
