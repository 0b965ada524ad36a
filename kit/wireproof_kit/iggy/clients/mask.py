"""The secrets that clients of Iggy send: passwords, tokens, HTTP credentials."""

from collections.abc import Generator

from wireproof_kit.iggy.clients.decoder import HTTP
from wireproof_kit.wire.mask import Mask, Parser, Take, TwoWayMask, http_mask, no_secrets
from wireproof_spec.iggy.apache.envelope import unpack_version
from wireproof_spec.iggy.apache.envelopes import ENVELOPES
from wireproof_spec.iggy.apache.header import HEADER_SIZE, SIZE_AT
from wireproof_spec.iggy.apache.operations import REGISTER, USERS
from wireproof_spec.iggy.commands import LOGIN_USER

CREATE_USER, CHANGE_PASSWORD, LOGIN_TOKEN = 33, 37, 44
"""Commands of deployed servers that carry secrets; no published text has them."""
SECRET_PATHS = (b"/users", b"/personal-access-tokens")
_WORD = 4
_OPERATION_AT = 176 - SIZE_AT - _WORD


def make_mask(conn: str) -> Mask:
    """Return the mask of a connection to a server."""
    if conn.startswith(HTTP):
        return http_mask(SECRET_PATHS)
    return TwoWayMask(_requests(), no_secrets())


def _requests() -> Parser:
    while True:
        left = int.from_bytes((yield Take(_WORD)), "little")
        if not left:
            yield from _apache_requests()
        if left < _WORD:
            yield Take(left)
            continue
        code = int.from_bytes((yield Take(_WORD)), "little")
        left -= _WORD
        if code == LOGIN_USER:
            left = yield from _short(left, is_secret=False)
            left = yield from _short(left, is_secret=True)
        yield Take(left, is_secret=code in (CREATE_USER, CHANGE_PASSWORD, LOGIN_TOKEN))


def _apache_requests() -> Parser:
    """Parse requests of generation apache, the first from its fifth byte on."""
    taken = _WORD
    while True:
        size = int.from_bytes((yield Take(SIZE_AT + _WORD - taken))[-_WORD:], "little")
        head = yield Take(HEADER_SIZE - SIZE_AT - _WORD)
        left = max(size - HEADER_SIZE, 0)
        if head[_OPERATION_AT] == REGISTER:
            left = yield from _apache_login(left)
        yield Take(left, is_secret=head[_OPERATION_AT] in USERS)
        taken = 0


def _apache_login(left: int) -> Generator[Take, bytes, int]:
    """Parse a login up to its context: name and password, or a token; both are secret."""
    version = yield Take(min(left, _WORD))
    left -= len(version)
    for _ in ("sdk_name", "sdk_version"):
        left = yield from _short(left, is_secret=False)
    number = unpack_version(int.from_bytes(version, "little"))[:2]
    sizes = (each.secret_size for each in ENVELOPES.values() if each.parts == number)
    secret = min(next(sizes, 0), left)
    yield Take(secret, is_secret=True)
    left -= secret
    for _ in ("username", "password"):
        left = yield from _short(left, is_secret=True)
    return left


def _short(left: int, *, is_secret: bool) -> Generator[Take, bytes, int]:
    """Parse a text behind a length of one byte; return how many bytes of the request are left."""
    if not left:
        return 0
    size = min((yield Take(1))[0], left - 1)
    yield Take(size, is_secret=is_secret)
    return left - 1 - size
