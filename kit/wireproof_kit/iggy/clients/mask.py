"""The secrets between clients of Iggy and a server: passwords, tokens, HTTP credentials."""

from collections import deque
from collections.abc import Generator

from wireproof_kit.iggy.clients.decoder import HTTP
from wireproof_kit.wire.mask import Mask, Parser, Take, TwoWayMask, http_mask
from wireproof_spec.iggy.apache.envelope import unpack_version
from wireproof_spec.iggy.apache.envelopes import ENVELOPES
from wireproof_spec.iggy.apache.header import HEADER_SIZE, SIZE_AT
from wireproof_spec.iggy.apache.operations import REGISTER, USERS
from wireproof_spec.iggy.commands import LOGIN_USER

CREATE_USER, CHANGE_PASSWORD, CREATE_TOKEN, LOGIN_TOKEN = 33, 37, 42, 44
"""Commands of deployed servers that carry secrets; no published text has them."""
SECRET_PATHS = (b"/users", b"/personal-access-tokens")
_WORD = 4
_OPERATION_AT = 176 - SIZE_AT - _WORD


def make_mask(conn: str) -> Mask:
    """Return the mask of a connection to a server."""
    if conn.startswith(HTTP):
        return http_mask(SECRET_PATHS)
    asked: deque[int] = deque(maxlen=1000)
    return TwoWayMask(_requests(asked), _responses(asked))


def _requests(asked: deque[int]) -> Parser:
    while True:
        left = int.from_bytes((yield Take(_WORD)), "little")
        if not left:
            yield from _apache_requests()
        if left < _WORD:
            yield Take(left)
            continue
        code = int.from_bytes((yield Take(_WORD)), "little")
        asked.append(code)
        left -= _WORD
        if code == LOGIN_USER:
            left = yield from _short(left, is_secret=False)
            left = yield from _short(left, is_secret=True)
        yield Take(left, is_secret=code in (CREATE_USER, CHANGE_PASSWORD, LOGIN_TOKEN))


def _responses(asked: deque[int]) -> Parser:
    """Parse responses, which come in the order of the requests: status, length, payload."""
    while True:
        yield Take(_WORD)
        length = int.from_bytes((yield Take(_WORD)), "little")
        code = asked.popleft() if asked else 0
        yield Take(length, is_secret=code == CREATE_TOKEN)


def _apache_requests() -> Parser:
    """Parse requests of generation apache, the first from its fifth byte on."""
    taken = _WORD
    while True:
        size = int.from_bytes((yield Take(SIZE_AT + _WORD - taken))[-_WORD:], "little")
        head = yield Take(HEADER_SIZE - SIZE_AT - _WORD)
        left = max(size - HEADER_SIZE, 0)
        operation = head[_OPERATION_AT]
        if operation == REGISTER:
            left = yield from _apache_login(left)
        yield Take(left, is_secret=operation in USERS)
        taken = 0


def _apache_login(left: int) -> Generator[Take, bytes, int]:
    """Parse a login up to its context: name and password, or a token; both are secret."""
    version = yield Take(min(left, _WORD))
    left -= len(version)
    for _ in ("sdk_name", "sdk_version"):
        left = yield from _short(left, is_secret=False)
    number = unpack_version(int.from_bytes(version, "little"))[:2]
    sizes = (each.further_login_size for each in ENVELOPES.values() if each.parts == number)
    further = min(next(sizes, 0), left)
    yield Take(further, is_secret=True)
    left -= further
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
