"""The door to pytest: in process, with the kit's plug-in alone and nobody else's settings."""

import contextlib
import io
import os
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from wireproof_kit import protocols as registered

_VARIABLES = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")


@dataclass(frozen=True, slots=True)
class Ended:
    """pytest's exit code, and what it wrote to stderr."""

    code: int
    said: str

    def sentence(self) -> str:
        """Return the last line of what pytest said, without its own mark."""
        lines = [line.strip() for line in self.said.splitlines() if line.strip()]
        return lines[-1].removeprefix("ERROR: ") if lines else "pytest gave no reason"


def run_pytest(
    arguments: Sequence[str],
    *,
    cache: Path,
    plugins: Sequence[object],
    protocols: Iterable[str] | None = None,
) -> Ended:
    """Run the cases of protocols, or all, under pytest.

    ``cache`` is where it remembers what failed.
    """
    import pytest

    said = io.StringIO()
    with _own_environment(), contextlib.redirect_stderr(said), _settings() as settings:
        whole = [
            *_always(settings, cache),
            *arguments,
            *suites(protocols or registered.known_protocols()),
        ]
        code = pytest.main(whole, plugins=list(plugins))
    return Ended(int(code), said.getvalue())


def suites(protocols: Iterable[str]) -> list[str]:
    """Return the packages that hold the cases of protocols."""
    return ["--pyargs", *(registered.suites(protocol) for protocol in protocols)]


def _always(settings: Path, cache: Path) -> list[str]:
    return [
        "--disable-plugin-autoload",
        "--noconftest",
        "-p",
        "wireproof_kit.pytest_plugin.plugin",
        "-p",
        "no:terminal",
        "--import-mode=importlib",
        "-c",
        str(settings),
        "--rootdir",
        str(Path.cwd()),
        "-o",
        f"cache_dir={cache.absolute()}",
    ]


@contextlib.contextmanager
def _settings() -> Generator[Path]:
    place = resources.files("wireproof.running") / "cases.ini"
    with resources.as_file(place) as path:
        yield path


@contextlib.contextmanager
def _own_environment() -> Generator[None]:
    """Hide the variables by which a user changes pytest's ways elsewhere."""
    kept = {name: os.environ.pop(name) for name in _VARIABLES if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)
