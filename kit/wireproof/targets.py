"""Which target a command line means: its arguments first, then environment and file."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from wireproof.config import Settings, read_settings
from wireproof.manner import Manner
from wireproof_kit.errors import UsageFault
from wireproof_kit.target import is_url

REFERENCE = "reference"

NO_TARGET = (
    "no target named: give a URL such as nsq://127.0.0.1:4150, or [target] url in "
    "wireproof.toml, or --reference"
)
EMPTY_URL = "the broker URL is empty (a variable that is not set?); give e.g. nsq://127.0.0.1:4150"


@dataclass(frozen=True, slots=True)
class Named:
    """A target as named; ``keys`` are what else was given about it, ``prefixes`` the rest."""

    url: str
    prefixes: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()
    reset: str | None = None


class DoorOptions(TypedDict):
    """The options of TLS and AUTH, by the names of their parameters."""

    tls: bool
    cacert: str | None
    cert: str | None
    key: str | None
    auth_env: str | None


@dataclass(frozen=True, slots=True)
class Keys:
    """Target keys given as options; they have one name everywhere."""

    http: str | None = None
    data: str | None = None
    lookupd: tuple[str, ...] = ()
    control: str | None = None
    tls: bool = False
    cacert: str | None = None
    cert: str | None = None
    key: str | None = None
    auth_env: str | None = None


NO_KEYS = Keys()


def settings_for(manner: Manner) -> Settings:
    """Return the configuration that holds here."""
    return read_settings(manner.config, folder=Path.cwd(), environment=os.environ)


def named_target(
    arguments: Sequence[str],
    settings: Settings,
    *,
    reference: bool = False,
    given: Keys = NO_KEYS,
) -> Named:
    """Find the target; ``given`` stands above the configuration.

    Raises:
        UsageFault: none is named, or more than one, or the URL is empty.
    """
    urls = [argument for argument in arguments if is_url(argument) or not argument.strip()]
    prefixes = tuple(argument.rstrip("/") for argument in arguments if argument not in urls)
    url = _one_url(urls, settings, reference=reference)
    if url is None:
        raise UsageFault(NO_TARGET + _hint(prefixes))
    if not url.strip():
        raise UsageFault(EMPTY_URL)
    # What the configuration says of another target must not be believed of this one.
    configured = settings if url == settings.url or settings.url is None else Settings()
    if url == REFERENCE:
        configured = Settings()
        if given != NO_KEYS:
            raise UsageFault(
                "--reference brings its own addresses and data directory; leave out --http, "
                "--lookupd, --data, --control, --tls and --auth-env"
            )
    return Named(url, prefixes, tuple(_keys(configured, given)), configured.reset)


def _one_url(urls: Sequence[str], settings: Settings, *, reference: bool) -> str | None:
    if reference and urls:
        raise UsageFault("expected either a URL or --reference, found both; leave one out")
    if len(urls) > 1:
        raise UsageFault(f"expected one target, found {len(urls)}: {', '.join(urls)}")
    if reference:
        return REFERENCE
    return urls[0] if urls else settings.url


def _hint(prefixes: Sequence[str]) -> str:
    for prefix in prefixes:
        if ":" in prefix:
            return f"; {prefix!r} has no protocol, did you mean nsq://{prefix.lstrip('/')}?"
    return ""


def _keys(settings: Settings, given: Keys) -> Iterator[tuple[str, str]]:
    for key, value in (
        ("http", given.http or settings.http),
        ("data", given.data or settings.data),
        ("control", given.control or settings.control),
        ("tls", "true" if given.tls else settings.tls),
        ("cacert", given.cacert or settings.cacert),
        ("cert", given.cert or settings.cert),
        ("key", given.key or settings.key),
        ("auth_env", given.auth_env or settings.auth_env),
    ):
        if value:
            yield key, value
    for address in given.lookupd or settings.lookupd:
        yield "lookupd", address
