"""Which target a command line means: its arguments first, then environment and file."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

import click

from wireproof.options.config import Settings, read_settings
from wireproof.options.confirmation import confirm_found, remember_addresses
from wireproof.options.global_options import OutputStyle
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import (
    example_url,
    known_protocols,
    read_target,
    suggest_url,
    target_keys,
)
from wireproof_kit.targets.target import ON_CLIENTS, ROLE, Form, is_url, option_of, split_token

Pairs: TypeAlias = tuple[tuple[str, str], ...]
"""Target keys with their values; a key of several values stands several times."""

REFERENCE = "reference"

NO_TARGET = (
    f"no target named: give a URL such as {example_url()}, or [target] url in wireproof.toml, or "
    "--reference"
)
NO_CLIENT = (
    "no client named: give --exec 'COMMAND', or [target] url = \"PROTOCOL+client:COMMAND\" in "
    "wireproof.toml; --check-driver 'COMMAND' checks a driver"
)
EMPTY_URL = f"the broker URL is empty (a variable that is not set?); give e.g. {example_url()}"


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """The target that a command line names: its URL, and the arguments that select cases.

    ``keys`` are target keys given as options. ``protocol`` is set if the target is the reference.
    """

    url: str
    prefixes: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()
    reset: str | None = None
    protocol: str | None = None


_METAVARS: dict[Form, str] = {
    "address": "HOST:PORT",
    "servers": "HOST:PORT",
    "directory": "DIR",
    "file": "FILE",
    "text": "VAR",
}
_GIVEN = "wireproof.keys"


def key_options(*forms: Form) -> Iterator[click.Option]:
    """Yield the command-line options for target keys, of some or all forms; see `given_keys`."""
    for key, known in target_keys().items():
        if forms and known.form not in forms:
            continue
        yield click.Option(
            [option_of(key), key],
            multiple=known.form == "servers",
            is_flag=known.form == "flag",
            metavar=_METAVARS.get(known.form),
            type=click.Choice(known.choices) if known.choices else None,
            help=known.help,
            expose_value=False,
            callback=_remember,
        )


def given_keys() -> Pairs:
    """Return the target keys given as options of the running command, with their values."""
    context = click.get_current_context(silent=True)
    said: dict[str, tuple[str, ...]] = context.meta.get(_GIVEN, {}) if context else {}
    return tuple((key, value) for key in target_keys() for value in said.get(key, ()))


def _remember(context: click.Context, param: click.Parameter, value: object) -> None:
    if value and param.name:
        values = cast(tuple[str, ...], value) if isinstance(value, tuple) else (_text(value),)
        context.meta.setdefault(_GIVEN, {})[param.name] = values


def _text(value: object) -> str:
    return "true" if value is True else str(value)


def settings_for(manner: OutputStyle) -> Settings:
    """Return the settings from configuration and environment for the current folder."""
    return read_settings(manner.config, folder=Path.cwd(), environment=os.environ)


def named_target(
    arguments: Sequence[str],
    settings: Settings,
    *,
    reference: bool = False,
    given: Pairs = (),
) -> NamedTarget:
    """Return the target that arguments name, or else the configuration.

    ``given`` are target keys that take precedence over the configuration.

    Raises:
        UsageFault: no target or more than one is given, the URL is empty, or a configuration that
            was only found asks for what the user does not allow.
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
    # From here on the URL is shown and kept.
    url, control = split_token(url)
    given = given if not control or "control" in dict(given) else (*given, ("control", control))
    if url == REFERENCE:
        configured = Settings()
        refused = [key for key, _ in given if target_keys()[key].form != "choice"]
        if refused:
            options = ", ".join(dict.fromkeys(map(option_of, refused)))
            raise UsageFault(
                f"--reference brings its own addresses and data directory; leave out {options}"
            )
    used = {key for key, _ in configured.keys} - {key for key, _ in given}
    confirm_found(settings, used if urls or url == REFERENCE else used | {"url"})
    named = NamedTarget(url, prefixes, tuple(_keys(configured, given)), configured.reset)
    if url != REFERENCE and (urls or settings.found is None):
        with suppress(UsageFault):  # what is no valid URL is refused where it is used
            remember_addresses(read_target(url, named.keys).list_addresses())
    return named


def named_client(
    arguments: Sequence[str],
    settings: Settings,
    *,
    command: str | None,
    protocol: str | None,
    role: str | None,
) -> NamedTarget:
    """Return the client that a command line names, or else the configuration.

    Without a command, the configuration names the client and its protocol. ``role`` takes
    precedence over the configuration.

    Raises:
        UsageFault: no client is named, or as `named_target`.
    """
    given = (*(((ROLE, role),) if role else ()), *given_keys())
    if command is not None:
        url = f"{protocol or known_protocols()[0]}{ON_CLIENTS}:{command}"
        prefixes = tuple(argument.rstrip("/") for argument in arguments)
        is_same = settings.url in (None, url)
        configured = [pair for pair in settings.keys if pair[0] == ROLE] if is_same else []
        return NamedTarget(url, prefixes, given if role else (*configured, *given))
    scheme = (settings.url or "").partition(":")[0]
    if not scheme.endswith(ON_CLIENTS):
        raise UsageFault(NO_CLIENT)
    if protocol not in (None, scheme.removesuffix(ON_CLIENTS)):
        raise UsageFault(f"--protocol {protocol}: the configuration names {settings.url}")
    return named_target(arguments, settings, given=given)


def sole_target(
    arguments: Sequence[str], settings: Settings, *, reference: bool = False, advice: str = ""
) -> NamedTarget:
    """Return the target of a command that takes one URL and target keys, but no case ids.

    Raises:
        UsageFault: as for `named_target`, or an argument is no URL.
    """
    named = named_target(arguments, settings, reference=reference, given=given_keys())
    if named.prefixes:
        raise UsageFault(f"{named.prefixes[0]!r}: expected one URL{advice}")
    return named


def _one_url(urls: Sequence[str], settings: Settings, *, reference: bool) -> str | None:
    if reference and urls:
        raise UsageFault("expected either a URL or --reference, found both; leave one out")
    if len(urls) > 1:
        shown = ", ".join(split_token(url)[0] for url in urls)
        raise UsageFault(f"expected one target, found {len(urls)}: {shown}")
    if reference:
        return REFERENCE
    return urls[0] if urls else settings.url


def _hint(prefixes: Sequence[str]) -> str:
    """Return what to add about arguments that are no URL, and what may be meant by one."""
    for prefix in prefixes:
        if near := suggest_url(prefix):
            return f"; {prefix!r} is no URL, did you mean {near}?"
    return f"; {prefixes[0]!r} is no URL" if prefixes else ""


def _keys(settings: Settings, given: Pairs) -> Iterator[tuple[str, str]]:
    said = {key for key, _ in given}
    pairs = [*given, *(pair for pair in settings.keys if pair[0] not in said)]
    for key in (*target_keys(), ROLE):
        yield from (pair for pair in pairs if pair[0] == key)
