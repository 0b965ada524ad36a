"""Writes a finding against a client as a script that needs only Python and the client."""

import inspect
import re
from collections.abc import Mapping
from types import ModuleType

from wireproof_kit.fuzz.clients import standalone
from wireproof_spec.strict_json import JsonValue

_EMPTY = "CASE: dict[str, Any] = {}\n"
_OF_THE_KIT = re.compile(r"^from wireproof_kit\..*\n", re.MULTILINE)


def write_client_script(case: Mapping[str, JsonValue], module: ModuleType) -> str:
    """Return the script of a finding: what all share, and a protocol's servers from a module.

    All that comes from the finding is written as literals.
    """
    shared = inspect.getsource(standalone)
    own = _OF_THE_KIT.sub("", inspect.getsource(module))
    return shared.replace(_EMPTY, f"CASE: dict[str, Any] = {dict(case)!r}\n", 1) + "\n\n" + own
