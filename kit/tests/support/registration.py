"""Registering parts of a protocol for the length of one test."""

from importlib.metadata import EntryPoint

import pytest

from wireproof_spec import protocol as registry
from wireproof_spec.protocol import Group, find_registered


class Registration:
    """What tests add to the entry points of installed packages."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def add(self, group: Group, name: str, value: str) -> None:
        """Add an entry point, in place of one that has the name."""
        self._monkeypatch.setitem(find_registered(group), name, EntryPoint(name, value, group))
        forget()


def forget() -> None:
    """Let the next look at the protocols read their entry points again."""
    registry._load_protocols.cache_clear()  # pyright: ignore[reportPrivateUsage]
