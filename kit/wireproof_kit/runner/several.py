"""What the named target has several of: a case that takes one of them is run once for each."""

from collections.abc import Mapping, Sequence

import pytest

from wireproof_kit.errors import KitError
from wireproof_kit.protocols import kit_part, read_target
from wireproof_kit.pytest_plugin.options import broker_url

_SEVERAL: pytest.StashKey[Mapping[str, Sequence[str]]] = pytest.StashKey()


def several_of(config: pytest.Config) -> Mapping[str, Sequence[str]]:
    """Return the names of what there is several of, by the argument that cases take.

    Nothing when no target is named, or one that cannot be opened: who opens it says why.
    """
    if _SEVERAL not in config.stash:
        config.stash[_SEVERAL] = _named(broker_url(config))
    return config.stash[_SEVERAL]


def _named(url: str | None) -> Mapping[str, Sequence[str]]:
    if url is None:
        return {}
    try:
        target = read_target(url)
        several = kit_part(target.protocol).several
        return {name: names(target) for name, names in several.items()}
    except KitError:
        return {}
