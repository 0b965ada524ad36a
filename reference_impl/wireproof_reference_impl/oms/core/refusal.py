"""Refusals, with the status codes of the OpenMessaging API."""

from typing import Final

BAD_REQUEST: Final = 1400
NOT_FOUND: Final = 1404
HEADER_TOO_LARGE: Final = 1412
BAD_PARAMETER: Final = 1418


class Refusal(Exception):
    """Raised to refuse a request to the broker; the reason is for people."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason
