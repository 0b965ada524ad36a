"""The login of every connection in a session: TLS and AUTH, if the user asked for them.

The secret is read from the environment once. One function sends it, and keeps it out of the
transcript. A failed login is reported in one sentence, because no case can run then.
"""

import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from wireproof_kit.decoding.json_text import json_object
from wireproof_kit.errors import ArrangementFailed, TargetSilent, UsageFault
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.wire import frames
from wireproof_kit.nsq.wire.answers import Answer, ErrorFrame, Response
from wireproof_kit.nsq.wire.connection import Connection
from wireproof_kit.runner.patience import Wait
from wireproof_kit.targets.target import Target
from wireproof_spec.nsq.names import OK

FEATURES = "feature_negotiation"
TLS = "tls_v1"
TLS_REQUIRED = "TLS required"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNKNOWN_AUTHORITY = (2, 18, 19, 20, 21, 27)
_NOT_YET, _EXPIRED = 9, 10
_OTHER_HOST = (62, 63, 64)


@dataclass(frozen=True, slots=True)
class Login:
    """Logs in on connections; without a TLS context and a secret, it only sends IDENTIFY."""

    context: ssl.SSLContext | None = None
    secret: bytes | None = field(default=None, repr=False)

    @property
    def is_open(self) -> bool:
        """Return True if connections need neither TLS nor AUTH."""
        return self.context is None and self.secret is None

    def enter(self, connection: Connection, fields: Mapping[str, object], wait: Wait) -> Answer:
        """Send IDENTIFY, start TLS and send AUTH as required; return the response to IDENTIFY.

        The response is as if IDENTIFY had been sent with ``fields`` alone, without TLS.

        Raises:
            TargetSilent: TLS or AUTH is not possible; no case can run.
            ArrangementFailed: the target does not go on after the handshake.
        """
        if self.is_open:
            return connection.ask(frames.identify(**fields), wait)
        wanted = {**fields, FEATURES: True} | ({TLS: True} if self.context else {})
        answer = connection.ask(frames.identify(**wanted), wait)
        if not isinstance(answer, Response):
            return answer
        said = json_object(answer.data)
        if self.context is not None:
            self._secure(connection, self.context, said, wait=wait)
        if self.secret is not None and said.get("auth_required") is True:
            _show_secret(connection, self.secret, wait)
        return answer if fields.get(FEATURES) is True else Response(OK)

    def enter_unnamed(self, connection: Connection, wait: Wait) -> None:
        """Log in without IDENTIFY if possible; if TLS or AUTH need it, send an empty one.

        Raises:
            TargetSilent: TLS or AUTH is not possible; no case can run.
            ArrangementFailed: the target does not go on.
        """
        if self.is_open:
            return
        answer = self.enter(connection, {}, wait)
        if not isinstance(answer, Response):
            raise ArrangementFailed(f"IDENTIFY was answered {observe(answer).describe()}")

    def _secure(
        self,
        connection: Connection,
        context: ssl.SSLContext,
        said: Mapping[str, object],
        *,
        wait: Wait,
    ) -> None:
        if said.get(TLS) is not True:
            raise TargetSilent(
                f"{connection.place} does not offer TLS (it answers IDENTIFY without tls_v1); "
                "leave out --tls or switch TLS on there"
            )
        self.switch_to_tls(connection, context, wait)
        answer = connection.receive(wait)
        if answer != Response(OK):
            seen = observe(answer).describe()
            raise ArrangementFailed(f"expected OK after the TLS handshake, received {seen}")

    def switch_to_tls(self, connection: Connection, context: ssl.SSLContext, wait: Wait) -> None:
        """Perform the TLS handshake after the response to IDENTIFY announced TLS.

        Raises:
            TargetSilent: the handshake fails.
        """
        try:
            connection.secure(context, connection.seconds(wait))
        except ssl.SSLCertVerificationError as error:
            raise TargetSilent(f"{connection.place}: {_certificate_fault(error)}") from error
        except TimeoutError as error:
            raise TargetSilent(f"{connection.place} does not finish the TLS handshake") from error
        except OSError as error:
            why = getattr(error, "reason", None) or error.strerror or str(error)
            raise TargetSilent(f"{connection.place}: the TLS handshake failed ({why})") from error


def login_of(target: Target) -> Login:
    """Return the login with the certificate files and the secret that the user gave.

    Raises:
        UsageFault: a file cannot be used, or the variable is not set.
    """
    secret = None if target.auth_env is None else _secret(target.auth_env)
    given = [key for key in ("cacert", "cert", "key") if getattr(target, key) is not None]
    if not target.tls:
        if given:
            raise UsageFault(f"--{given[0]} is there without --tls; give both")
        return Login(None, secret)
    if target.key is not None and target.cert is None:
        raise UsageFault("--key is there without --cert; give both")
    return Login(_context(target), secret)


def _context(target: Target) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=target.cacert)
    except (OSError, ValueError) as error:
        raise UsageFault(f"--cacert {target.cacert}: no PEM certificate ({error})") from error
    if target.cert is not None:
        try:
            context.load_cert_chain(target.cert, target.key)
        except (OSError, ValueError) as error:
            why = getattr(error, "reason", None) or str(error)
            raise UsageFault(
                f"--cert {target.cert}: no usable certificate and key ({why})"
            ) from error
    return context


def _secret(variable: str) -> bytes:
    """Return the secret in an environment variable; errors never show its value."""
    secret = os.environ.get(variable, "") if _VARIABLE.fullmatch(variable) else ""
    if not secret:
        raise UsageFault(
            "--auth-env: there is no such environment variable, or it is empty; give the name of "
            "the variable that holds the secret"
        )
    return secret.encode()


def _show_secret(connection: Connection, secret: bytes, wait: Wait) -> None:
    connection.show_secret(secret)
    answer = connection.receive(wait)
    if isinstance(answer, ErrorFrame) and TLS_REQUIRED in answer.text:
        raise TargetSilent(f"{connection.place} asks for TLS; give --tls")
    if not isinstance(answer, Response):
        seen = observe(answer).describe()
        raise TargetSilent(
            f"{connection.place} does not take the secret (AUTH was answered {seen}); "
            "look into the variable named by --auth-env"
        )


def _certificate_fault(error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code in _UNKNOWN_AUTHORITY:
        return "its certificate is of an authority nobody knows; name it with --cacert FILE"
    if error.verify_code == _EXPIRED:
        return "its certificate has expired; renew it"
    if error.verify_code == _NOT_YET:
        return "its certificate is not valid yet; look at the clocks"
    if error.verify_code in _OTHER_HOST:
        return "its certificate is for another host; address it by the name in the certificate"
    return f"its certificate is refused ({error.verify_message})"
