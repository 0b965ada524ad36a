"""Cases known to be wrong: left out until they are mended, named with the reason.

This is the way back for a contested verdict; an entry past its date is an error of ours.
"""

import tomllib
from datetime import date
from importlib import resources

import msgspec

from wireproof_kit.errors import KitError


class Exclusion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A case of the kit known to be wrong: id or prefix, why, and until when to correct it."""

    id: str
    why: str
    until: date


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    exclusion: tuple[Exclusion, ...] = ()


def read_exclusions() -> tuple[Exclusion, ...]:
    """Return the list of the kit's own wrong cases, which are not run.

    Raises:
        KitError: the file does not fit its schema.
    """
    text = (resources.files("wireproof_kit") / "exclusions.toml").read_text(encoding="utf-8")
    try:
        return msgspec.convert(tomllib.loads(text), _File).exclusion
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise KitError(f"exclusions.toml: {error}") from error
