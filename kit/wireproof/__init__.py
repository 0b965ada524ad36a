"""Conformance tests for message brokers: the interface for programs, and the command line.

`run` judges a target, `judge` judges a bundle again, `diff` compares two runs and `load` reads a
bundle; each is imported when it is first used, since the command line needs none of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wireproof.api import Options, Run, diff, judge, load, run
    from wireproof_kit.version import KIT_VERSION as __version__

__all__ = ["Options", "Run", "__version__", "diff", "judge", "load", "run"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        from wireproof_kit.version import KIT_VERSION

        return KIT_VERSION
    from wireproof import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return __all__
