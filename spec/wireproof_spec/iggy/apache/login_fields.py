"""The parts of login bodies that stand in every protocol number."""

from wireproof_spec.grammar.layout import Field, Int32ul, Int64ul, field
from wireproof_spec.iggy.bodies.text_fields import long_text, short_text

_NAME_BOUNDS = (1, 255)


def version_fields() -> tuple[Field, ...]:
    """Return the layout of the prefix that says who the client is and what it speaks."""
    return (
        field("protocol_version", Int32ul),
        *short_text("sdk_name", bounds=_NAME_BOUNDS),
        *short_text("sdk_version", bounds=_NAME_BOUNDS),
    )


def credential_fields() -> tuple[Field, ...]:
    """Return the layout of user name and password."""
    return (*short_text("username"), *short_text("password"))


def token_field() -> tuple[Field, ...]:
    """Return the layout of a personal access token."""
    return short_text("token")


def context_field() -> tuple[Field, ...]:
    """Return the layout of the context."""
    return long_text("context")


def logged_in_fields() -> tuple[Field, ...]:
    """Return the layout of the payload that answers a login."""
    return (
        field("user_id", Int32ul),
        field("session", Int64ul),
        field("server_protocol_version", Int32ul),
        *short_text("server_version"),
    )


def poll_head_fields() -> tuple[Field, ...]:
    """Return the layout of the 16 bytes with which every poll reply begins."""
    return (
        field("partition_id", Int32ul),
        field("current_offset", Int64ul),
        field("count", Int32ul),
    )
