"""Protocol 0.11: server 0.9.0 of Apache Iggy, the published pages, and the recorded bytes."""

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Record
from wireproof_spec.iggy.apache.envelope import (
    Envelope,
    LoggedIn,
    LoginBody,
    PollHead,
    TokenLoginBody,
    pack_version,
)
from wireproof_spec.iggy.apache.login_fields import (
    context_field,
    credential_fields,
    logged_in_fields,
    poll_head_fields,
    token_field,
    version_fields,
)

LOGIN = Schema(
    "apache login 0.11",
    "iggy.apache.login.gate",
    LoginBody,
    Record(LoginBody, *version_fields(), *credential_fields(), *context_field()),
)
"""4-byte `protocol_version`; `sdk_name`, `sdk_version`, `username`, `password` behind 1-byte
lengths; `context` behind a 4-byte length."""
TOKEN_LOGIN = Schema(
    "apache token login 0.11",
    "iggy.apache.login.gate",
    TokenLoginBody,
    Record(TokenLoginBody, *version_fields(), *token_field(), *context_field()),
)
"""The same with `token` in the place of name and password."""
LOGGED_IN = Schema(
    "apache login reply",
    "iggy.apache.login.reply",
    LoggedIn,
    Record(LoggedIn, *logged_in_fields()),
)
"""4-byte `user_id`, 8-byte `session`, 4-byte `server_protocol_version`, `server_version` behind a
1-byte length."""
POLL_HEAD = Schema(
    "apache poll head 0.11",
    "iggy.apache.poll.head",
    PollHead,
    Record(PollHead, *poll_head_fields()),
)
"""16 bytes: 4-byte `partition_id`, 8-byte `current_offset`, 4-byte `count`."""

V0_11 = Envelope(
    number="0.11",
    version=pack_version(0, 11, 0),
    verified=True,
    login=LOGIN,
    token_login=TOKEN_LOGIN,
    login_reply=LOGGED_IN,
    poll_head=POLL_HEAD,
)
