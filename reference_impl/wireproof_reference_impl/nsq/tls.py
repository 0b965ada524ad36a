"""TLS of the broker's connections in memory; the shell moves the bytes."""

import contextlib
import ssl
from collections.abc import Callable
from pathlib import Path

from wireproof_reference_impl.addresses import BadOption
from wireproof_reference_impl.nsq.core.access import BadSeal

_CHUNK = 65536


class TlsSide:
    """The server's side of one TLS connection."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.established = False
        self.ended = False

    def open(self, data: bytes) -> bytes:
        """Return the plaintext of received TLS bytes."""
        self._incoming.write(data)
        try:
            if not self.established:
                self._tls.do_handshake()
                self.established = True
            return b"".join(iter(self._read, b""))
        except ssl.SSLWantReadError:
            return b""
        except ssl.SSLError as error:
            raise BadSeal(str(error)) from error

    def seal(self, data: bytes) -> bytes:
        """Return the TLS bytes to send, with pending handshake data before the encrypted bytes."""
        if data:
            self._tls.write(data)
        return self._outgoing.read()

    def finish(self) -> bytes:
        """Return the TLS bytes that announce the end of our stream."""
        with contextlib.suppress(ssl.SSLError):  # the client has not answered yet, and need not
            self._tls.unwrap()
        return self._outgoing.read()

    def _read(self) -> bytes:
        try:
            return self._tls.read(_CHUNK)
        except ssl.SSLWantReadError:
            return b""
        except ssl.SSLZeroReturnError:
            self.ended = True
            return b""


def security(certificate: Path, key: Path) -> Callable[[], TlsSide]:
    """Return a function that makes the TLS side of a new connection.

    Raises:
        BadOption: the certificate or key cannot be used.
    """
    for path in (certificate, key):
        if not path.is_file():
            raise BadOption(f"{path}: there is no such file; a PEM file is needed")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ValueError) as error:
        why = getattr(error, "reason", None) or str(error)
        raise BadOption(
            f"{certificate} with {key}: no usable certificate and key ({why})"
        ) from error
    return lambda: TlsSide(context)
