"""Texts that a server may take for something else than they are."""

from wireproof_kit.fuzz.generate.mutations import IN_QUERY
from wireproof_kit.fuzz.generate.text_traps import Traps, instead, make_append_trap
from wireproof_kit.iggy.wire import requests

TRAPS: Traps = {
    "body": {"like a command": instead(requests.ping().data)},
    IN_QUERY: {"more parameters": make_append_trap(b"&id=&id=x&count=-1")},
}
