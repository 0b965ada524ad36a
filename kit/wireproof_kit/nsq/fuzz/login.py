"""The login of connections that the fuzzer opens: TLS and AUTH, as in a run.

A broker that demands them looks at nothing else before. So the IDENTIFY that leads to a state asks
for TLS as well, AUTH follows, and the case begins behind that.
"""

import json
import socket
from dataclasses import dataclass
from typing import Final

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.fuzz.driver import Answer, LoggedIn
from wireproof_kit.nsq.fuzz.answers import OK_KIND
from wireproof_kit.nsq.wire import frames
from wireproof_kit.nsq.wire.answers import Response
from wireproof_kit.nsq.wire.connection import Connection
from wireproof_kit.nsq.wire.login import Login
from wireproof_kit.runner.patience import ANSWER, Patience
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.nsq import names
from wireproof_spec.nsq.command import command_line
from wireproof_spec.nsq.frame import response_frame

_NAMING: Final = names.MAGIC + command_line(names.IDENTIFY)
_SIZE: Final = 4


@dataclass(frozen=True, slots=True)
class CaseLogin:
    """Logs in each connection whose first command is IDENTIFY; other connections are unchanged."""

    login: Login
    patience: Patience

    def __call__(self, sock: socket.socket, address: Address, opening: bytes) -> LoggedIn:
        """Send the IDENTIFY, start TLS and send AUTH as required.

        Raises:
            TargetSilent: TLS or AUTH cannot be had.
            ArrangementFailed: IDENTIFY was not accepted, or the target does not go on.
        """
        if not opening.startswith(_NAMING):
            return LoggedIn(sock, opening)
        begin = len(_NAMING) + _SIZE
        end = begin + int.from_bytes(opening[len(_NAMING) : begin])
        fields: dict[str, object] = json.loads(opening[begin:end])
        transcript = Transcript()
        connection = Connection(
            sock, transcript=transcript, patience=self.patience, address=address
        )
        try:
            connection.send(frames.magic())
            answer = self.login.enter(connection, fields, ANSWER)
            if not isinstance(answer, Response):
                raise ArrangementFailed("IDENTIFY was not accepted")
        except BaseException:
            connection.close()
            raise
        named = Answer(OK_KIND, response_frame(answer.data))
        return LoggedIn(connection.sock, opening[end:], (named,), transcript.steps())
