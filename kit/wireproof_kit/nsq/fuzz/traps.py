"""Texts that a broker may take for something else than they are."""

from wireproof_kit.fuzz.generate.mutations import IN_QUERY
from wireproof_kit.fuzz.generate.text_traps import Traps, instead, make_append_trap
from wireproof_spec.nsq import names
from wireproof_spec.nsq.command import command_line

_SUFFIX = {"only the suffix": instead(b"#ephemeral")}

TRAPS: Traps = {
    "text": _SUFFIX,
    "fixed": _SUFFIX,
    "body": {"like a command": instead(b"\n" + command_line(names.NOP))},
    IN_QUERY: {"more parameters": make_append_trap(b"&topic=&topic=x")},
}
