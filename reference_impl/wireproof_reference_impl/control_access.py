"""Who may use a control API: nobody who came by a web page.

A browser sends requests to loopback addresses for any page its user visits. It says in `Origin`
which page that was, and in `Host` under which name the page reached us; neither can be forged by
the page, and the token, which is new at every start, it does not know.
"""

import hmac
import secrets
from base64 import b64encode
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

IDLE_SECONDS: Final = 60.0
"""How long a connection to a control API may stay silent; ours."""

_TOKEN_BYTES = 12


class ControlAccess:
    """The access rule of a control API: a request must show the token and name loopback hosts."""

    def __init__(self) -> None:
        self.token = secrets.token_hex(_TOKEN_BYTES)

    def announce(self, address: str) -> str:
        """Return `TOKEN@HOST:PORT`, the form in which clients are given a control API."""
        return f"{self.token}@{address}"

    def refusal(self, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """Return in a sentence why a request with these headers is refused; empty if it is not."""
        fields = [(name.lower(), value.strip()) for name, value in headers]
        hosts = [value for name, value in fields if name == b"host"]
        if not all(map(_is_loopback, hosts)):
            return "the Host header names another machine: the control serves loopback names only"
        if any(value not in _origins(hosts) for name, value in fields if name == b"origin"):
            return "the Origin header names a web page: the control serves no pages"
        shown = [value for name, value in fields if name == b"authorization"]
        if not any(self._is_token(value) for value in shown):
            return (
                "the token is missing or wrong: expected the one printed at start, as "
                "http://TOKEN@HOST:PORT/ or in the header 'Authorization: Bearer TOKEN'"
            )
        return ""

    def _is_token(self, shown: bytes) -> bool:
        basic = b64encode(f"{self.token}:".encode())
        known = (b"Bearer " + self.token.encode(), b"Basic " + basic)
        return any(hmac.compare_digest(shown, each) for each in known)


def _origins(hosts: list[bytes]) -> list[bytes]:
    return [b"http://" + host for host in hosts]


def _is_loopback(host: bytes) -> bool:
    name = host.decode("latin-1").lower()
    name = name.partition("]")[0].removeprefix("[") if name[:1] == "[" else name.partition(":")[0]
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"
