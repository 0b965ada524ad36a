"""Conformance tests for message brokers: the interface for programs, and the command line.

`run` judges a target, `judge` judges a bundle again, `diff` compares two runs and `load` reads a
bundle; each is imported when it is first used, since the command line needs none of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wireproof.api import Options, Run, diff, judge, load, run

__all__ = ["Options", "Run", "diff", "judge", "load", "run"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from wireproof import api

    return getattr(api, name)
