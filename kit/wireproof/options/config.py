"""The configuration: wireproof.toml, or [tool.wireproof] of pyproject.toml, and the environment.

The environment precedes the files. Options of the command line precede both; they are applied
where they are read.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from wireproof.options.found_file import FoundFile
from wireproof.options.suggestions import nearest_words, suggestion
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import target_keys
from wireproof_kit.runner.request import read_origins
from wireproof_kit.targets.target import ROLE, ROLES
from wireproof_kit.text_file import parse_toml, read_text
from wireproof_spec.clauses.catalogue import Level
from wireproof_spec.strict_json import is_array, is_object, members_of

_KEYS = target_keys()
_WHAT = "configuration"

TABLES = {
    "target": ("url", *_KEYS, ROLE, "reset"),
    "claims": (),
    "run": ("profile", "origin", "reading", "baseline", "spec_rev", "kit"),
    "reports": ("bundle", "junit", "html", "allure", "pcap"),
}
PATHS = (
    *(key for key, known in _KEYS.items() if known.form in ("directory", "file")),
    *("baseline", "bundle", "junit", "html", "allure", "pcap"),
)
CHOICES = {
    **{key: ("true", "false") for key, known in _KEYS.items() if known.form == "flag"},
    ROLE: ROLES,
    "profile": ("must", "should", "may", "observed"),
    "reading": ("any", "published", "deployed"),
}
NUMBERS = ("spec_rev",)
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
PREFIX = "WIREPROOF_"
FILE_KEY = "WIREPROOF_CONFIG"

Values = dict[str, object]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings from configuration file and environment; None for what neither of them sets.

    ``keys`` are target keys with their values, those of several values several times, and the
    role in which a client is judged;
    ``claims`` are NAME → true, false or probe; ``reset`` is a command run before the cases.
    ``spec_rev`` is a revision of the law, and ``kit`` the beginning of a version of the kit.
    ``found`` is the file in the current folder, which may be somebody else's, if no other was
    named.
    """

    url: str | None = None
    keys: tuple[tuple[str, str], ...] = ()
    reset: str | None = None
    profile: Level | None = None
    origin: str | None = None
    reading: str | None = None
    baseline: str | None = None
    spec_rev: str | None = None
    kit: str | None = None
    bundle: str | None = None
    junit: str | None = None
    html: str | None = None
    allure: str | None = None
    pcap: str | None = None
    claims: Mapping[str, str] = field(default_factory=dict[str, str])
    found: FoundFile | None = None


def read_settings(
    config: Path | None, *, folder: Path, environment: Mapping[str, str]
) -> Settings:
    """Return the settings from the configuration file and the environment variables.

    The file is `config`, or else the one that is found from the folder.

    Raises:
        UsageFault: a file, table, key, value or environment variable is not right.
    """
    named = config or (Path(environment[FILE_KEY]) if environment.get(FILE_KEY) else None)
    file, values = _find_file(folder) if named is None else (None, _from_file(named))
    from_environment = dict(_from_environment(environment))
    if from_environment.get("url", values.get("url")) != values.get("url"):
        # What the file says of its target must not be believed of another.
        values = {key: value for key, value in values.items() if key not in TABLES["target"]}
    of_file = {key: value for key, value in values.items() if key not in from_environment}
    found = None if file is None else _found_file(file, of_file)
    values.update(from_environment)
    keys = tuple(_target_keys(values))
    others = {name: value for name, value in values.items() if name not in _KEYS and name != ROLE}
    return Settings(keys=keys, found=found, **others)  # type: ignore[arg-type]  # checked key by key


def _find_file(folder: Path) -> tuple[Path | None, Values]:
    """Return the configuration file that lies in the folder, and what it says."""
    for name in ("wireproof.toml", "pyproject.toml"):
        # Not a pipe, which would be waited for: the user named none.
        if os.path.exists(folder / name) and not os.path.isfile(folder / name):
            raise UsageFault(f"{_WHAT} {folder / name}: expected a file")
        if values := _from_file(folder / name, required=False):
            return folder / name, values
    return None, {}


def _found_file(path: Path, values: Values) -> FoundFile:
    # With the folder: the same words elsewhere would run another file, and write another.
    content = repr((str(path.resolve()), sorted(values.items(), key=lambda item: item[0])))
    digest = hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()
    tables = {key: table for table, keys in TABLES.items() for key in keys}
    return FoundFile(path, digest, values, tables)


def _target_keys(values: Values) -> Iterator[tuple[str, str]]:
    for key in (*_KEYS, ROLE):
        value = values.get(key, ())
        each = cast(tuple[str, ...], value if isinstance(value, tuple) else (value,))
        yield from ((key, text) for text in each if text)


def _from_file(path: Path, *, required: bool = True) -> Values:
    if not os.path.exists(path):  # Path.exists raises what a closed folder answers
        if required:
            raise UsageFault(f"{_WHAT} {path}: the file does not exist")
        return {}
    document = parse_toml(read_text(path, _WHAT), path, _WHAT)
    if path.name == "pyproject.toml":
        document = _table(_table(document, "tool"), "wireproof")
    return dict(_check_settings(path, document))


def _table(document: Mapping[str, object], name: str) -> dict[str, object]:
    return members_of(document.get(name))


def _check_settings(path: Path, document: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for table, content in document.items():
        if table not in TABLES:
            hint = suggestion(table, list(TABLES))
            raise UsageFault(f"configuration {path}: [{table}] is no known table{hint}")
        if not is_object(content):
            raise UsageFault(f"configuration {path}: {table!r} expected to be a table")
        if table == "claims":
            yield "claims", dict(_claims(path, content))
        else:
            yield from _keys(path, table, content)


def _keys(path: Path, table: str, content: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in content.items():
        if key not in TABLES[table]:
            hint = suggestion(key, TABLES[table])
            raise UsageFault(f"configuration {path}: [{table}] {key} is no known key{hint}")
        where = f"configuration {path}: [{table}] {key}"
        form = _KEYS[key].form if key in _KEYS else None
        if form == "servers":
            yield key, _texts(where, value)
            continue
        said = str(value).lower() if form == "flag" and isinstance(value, bool) else value
        said = str(value) if key in NUMBERS and isinstance(value, int) else said
        text = _choice(where, key, _text(where, said))
        yield key, str(path.parent / text) if key in PATHS and text else text


def _claims(path: Path, content: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in content.items():
        said = str(value).lower() if isinstance(value, bool) else value
        if said not in ("true", "false", "probe"):
            raise UsageFault(
                f"configuration {path}: [claims] {name} expected true, false or "
                f'"probe"; found {value!r}'
            )
        yield name, said


def _from_environment(environment: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    known = [key for keys in TABLES.values() for key in keys] + ["config"]
    for name, value in environment.items():
        key = name.removeprefix(PREFIX).lower()
        if not name.startswith(PREFIX) or key == "config":
            continue
        if key in known:
            yield key, _from_variable(name, key, value)
            continue
        # Variables that are not near one of ours may belong to someone else.
        for near in nearest_words(key, known, cutoff=0.75):
            hint = f"did you mean {PREFIX}{near.upper()}?"
            raise UsageFault(f"environment variable {name} is not known; {hint}")


def _from_variable(name: str, key: str, value: str) -> object:
    if key in _KEYS and _KEYS[key].form == "servers":
        return tuple(item for item in value.split(",") if item)
    return _choice(f"environment variable {name}", key, value)


def _text(where: str, value: object) -> str:
    if isinstance(value, str):
        return value
    # What is inside a list or a table may be a secret.
    shown = repr(value) if isinstance(value, int | float) else f"a {type(value).__name__}"
    raise UsageFault(f"{where} expected a text in quotes; found {shown}")


def _texts(where: str, value: object) -> tuple[str, ...]:
    items = value if is_array(value) else [value]
    return tuple(_text(where, item) for item in items)


def _choice(where: str, key: str, value: str) -> str:
    if key == "origin":
        read_origins(value, where)
    if key in NUMBERS and not _NUMBER.fullmatch(value):
        raise UsageFault(f"{where} expected a number from 1; found {value!r}")
    choices = CHOICES.get(key)
    if choices and value not in choices:
        raise UsageFault(f"{where} expected one of {', '.join(choices)}; found {value!r}")
    return value
