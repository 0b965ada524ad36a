"""Texts that a server may take for something else than they are."""

from wireproof_kit.fuzz.mutations import IN_QUERY
from wireproof_kit.fuzz.text_traps import Traps, appended, instead
from wireproof_kit.iggy import requests

TRAPS: Traps = {
    "body": {"like a command": instead(requests.ping().data)},
    IN_QUERY: {"more parameters": appended(b"&id=&id=x&count=-1")},
}
