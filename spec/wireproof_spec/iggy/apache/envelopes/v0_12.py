"""Protocol 0.12, server 0.10.0: unverified, from a description of crate 0.11.1-edge.8.

No recorded bytes confirm these shapes. The description names the sizes of the new parts, not what
is in them: so they are bytes here.
"""

from wireproof_spec.decoding import Schema
from wireproof_spec.iggy.apache.envelope import (
    Envelope,
    LoginBody,
    Meaning,
    PollHead,
    TokenLoginBody,
    pack_version,
)
from wireproof_spec.iggy.apache.envelopes.v0_11 import LOGGED_IN
from wireproof_spec.iggy.apache.login_fields import (
    password_fields,
    poll_head_fields,
    token_fields,
    version_fields,
)
from wireproof_spec.layout import Bytes, Record, field

_SECRET_SIZE = 32
_SECRET = field("bind_secret", Bytes(_SECRET_SIZE))

LOGIN_0_12 = Schema(
    "apache login 0.12",
    "iggy.apache.login.gate",
    LoginBody,
    Record(LoginBody, *version_fields(), _SECRET, *password_fields()),
)
"""As in 0.11, with 32 bytes `bind_secret` between the version prefix and the credentials."""
TOKEN_LOGIN_0_12 = Schema(
    "apache token login 0.12",
    "iggy.apache.login.gate",
    TokenLoginBody,
    Record(TokenLoginBody, *version_fields(), _SECRET, *token_fields()),
)
"""The same with `token` in the place of name and password."""
POLL_HEAD_0_12 = Schema(
    "apache poll head 0.12",
    "iggy.apache.poll.head",
    PollHead,
    Record(PollHead, *poll_head_fields(), field("context", Bytes(24))),
)
"""40 bytes: those of 0.11, and 24 bytes of partition context."""

V0_12 = Envelope(
    number="0.12",
    version=pack_version(0, 12, 0),
    verified=False,
    login=LOGIN_0_12,
    token_login=TOKEN_LOGIN_0_12,
    login_reply=LOGGED_IN,
    poll_head=POLL_HEAD_0_12,
    poll_head_size=40,
    secret_size=_SECRET_SIZE,
    request_meanings=(Meaning("partition_incarnation", 200, 24),),
    reply_meanings=(Meaning("context", 224, 8),),
    batch_meanings=(Meaning("idempotent_producer", 52, 20),),
)
