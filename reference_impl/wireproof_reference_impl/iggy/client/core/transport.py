"""What both transports are for the shell: calls in, bytes out; bytes in, answers out."""

from typing import Protocol

from wireproof_reference_impl.iggy.client.core.calls import Answer, Call


class Transport(Protocol):
    """The interface of a client connection: calls follow each other, and each has one answer."""

    def begin(self) -> tuple[Call, ...]:
        """Return the calls to make before all others, such as the login."""
        ...

    def ask(self, call: Call) -> bytes:
        """Return a call as bytes to send.

        Raises:
            Lost: bytes are left over from the last answer: the connection is out of step.
        """
        ...

    def receive(self, data: bytes) -> Answer | None:
        """Return the answer that these received bytes complete, or None; empty bytes mean the end.

        Raises:
            CallFailed: the answer is an error, cannot be read, or did not come whole.
        """
        ...

    def lasts(self) -> bool:
        """Return True if another call may be made on the connection."""
        ...
