"""Bodies and headers that a careless reader or writer trips over."""

from wireproof_spec.nsq import error_codes
from wireproof_spec.nsq.frame import error_frame, message_frame, response_frame
from wireproof_spec.nsq.names import HEARTBEAT, MAGIC, OK

EVERY_BYTE = bytes(range(256))

CONTENTS = {
    "every-byte": EVERY_BYTE + EVERY_BYTE[::-1],
    "nul-bytes": bytes(300),
    "all-ones": b"\xff" * 300,
    "line-feeds": b"\n\r\n\n",
    "no-utf8": b"\xc3\x28\xed\xa0\x80\xfe",
    "ok-frame": response_frame(OK),
    "heartbeat-frame": response_frame(HEARTBEAT),
    "error-frame": error_frame(error_codes.E_INVALID, "no"),
    "message-frame": message_frame(bytes(26)),
    "command": b"FIN 0123456789abcdef\nPUB t\n\x00\x00\x00\x01x",
    "magic": MAGIC,
    "json-header": b'{"##client_dispatch_tag":"t"}',
    "ext-part": b"\x04\x00\x02{}",
    "version-zero": b"\x00",
    "version-zero-and-length": b"\x00\x00\x00",
    "large-length": b"\x04\xff\xff",
}


def header_of(length: int) -> bytes:
    """Return a JSON header of this length, but at least `{}`."""
    room = length - len(b'{"k":""}')
    return b"{}" if room < 0 else b'{"k":"%s"}' % (b"v" * room)
