"""Types of commands: sessions, actions and handlers."""

from collections.abc import Callable

from wireproof_reference_impl.iggy.core.server import Server
from wireproof_reference_impl.iggy.streams.client import Client
from wireproof_reference_impl.iggy.wire.fields import Fields


class CommandContext:
    """What a command is given when it runs: the server, the client and the time."""

    def __init__(self, server: Server, client: Client, now_us: int) -> None:
        self.server = server
        self.client = client
        self.now_us = now_us


Action = Callable[[CommandContext], bytes]
"""Does what a command asks for and returns the body of the answer, or raises `Refusal`."""

Handler = Callable[[Fields], Action]
"""Reads the fields of a command; raises `Refusal` when they are not as they must be."""
