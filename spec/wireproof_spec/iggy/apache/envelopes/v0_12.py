"""Protocol 0.12, server 0.10.0: unverified, from a description of crate 0.11.1-edge.8.

No recorded bytes confirm these shapes. The description names the sizes of the new parts, not what
is in them: so they are bytes here.
"""

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Bytes, Record, field
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
    context_field,
    credential_fields,
    poll_head_fields,
    token_field,
    version_fields,
)

_SECRET_SIZE, _CONTEXT_SIZE = 32, 24
SECRET = field("bind_secret", Bytes(_SECRET_SIZE))


class BoundLogin(LoginBody, frozen=True, gc=False):
    """The body of a login with name and password."""

    bind_secret: bytes = bytes(_SECRET_SIZE)


class BoundTokenLogin(TokenLoginBody, frozen=True, gc=False):
    """The body of a login with a personal access token."""

    bind_secret: bytes = bytes(_SECRET_SIZE)


class ContextHead(PollHead, frozen=True, gc=False):
    """What stands before the batches of a poll reply."""

    context: bytes = bytes(_CONTEXT_SIZE)


LOGIN_0_12: Schema[LoginBody] = Schema(
    "apache login 0.12",
    "iggy.apache.login.gate",
    BoundLogin,
    Record(BoundLogin, *version_fields(), SECRET, *credential_fields(), *context_field()),
)
"""As in 0.11, with 32 bytes `bind_secret` between the version prefix and the credentials."""
TOKEN_LOGIN_0_12: Schema[TokenLoginBody] = Schema(
    "apache token login 0.12",
    "iggy.apache.login.gate",
    BoundTokenLogin,
    Record(BoundTokenLogin, *version_fields(), SECRET, *token_field(), *context_field()),
)
"""The same with `token` in the place of name and password."""
POLL_HEAD_0_12: Schema[PollHead] = Schema(
    "apache poll head 0.12",
    "iggy.apache.poll.head",
    ContextHead,
    Record(ContextHead, *poll_head_fields(), field("context", Bytes(_CONTEXT_SIZE))),
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
    request_meanings=(Meaning("partition_incarnation", 200, 24),),
    reply_meanings=(Meaning("context", 224, 8),),
    batch_meanings=(Meaning("idempotent_producer", 52, 20),),
)
