"""The reasons of evictions: why a server ended a session."""

NO_SESSION = 1
INVALID_REQUEST_OPERATION = 4
INVALID_REQUEST_BODY = 5
INVALID_CREDENTIALS = 9
INVALID_TOKEN = 10
USER_INACTIVE = 11
STALE_CLIENT = 13
INCOMPATIBLE_PROTOCOL = 14
MALFORMED_LOGIN = 15

LOGIN_REASONS = frozenset(
    {INVALID_CREDENTIALS, INVALID_TOKEN, USER_INACTIVE, INCOMPATIBLE_PROTOCOL, MALFORMED_LOGIN}
)
"""Why a login is refused."""

REASONS = {
    NO_SESSION: "no_session",
    2: "client_release_too_low",
    3: "client_release_too_high",
    INVALID_REQUEST_OPERATION: "invalid_request_operation",
    INVALID_REQUEST_BODY: "invalid_request_body",
    6: "invalid_request_body_size",
    7: "session_too_low",
    8: "session_release_mismatch",
    INVALID_CREDENTIALS: "invalid_credentials",
    INVALID_TOKEN: "invalid_token",
    USER_INACTIVE: "user_inactive",
    12: "session_error",
    STALE_CLIENT: "stale_client",
    INCOMPATIBLE_PROTOCOL: "incompatible_protocol",
    MALFORMED_LOGIN: "malformed_login",
}
