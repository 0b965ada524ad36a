"""Requests to an adapter with checked answers, recorded in the transcript of a case."""

from wireproof_kit.decoding.json_text import json_line
from wireproof_kit.drivers.driver import ANSWER_WITHIN_S
from wireproof_kit.errors import ArrangementFailed, TargetSilent, TargetUnreachable
from wireproof_kit.oms.adapter.link import Link
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec import json_schema
from wireproof_spec.driver.lines import Answer, Failure, Fields, Members, Result, Unsupported
from wireproof_spec.strict_json import JsonValue

LANE = "adapter"
HUNG_S = 0.5
"""Seconds to wait for an adapter that has left an earlier request without an answer."""


class Exchange:
    """The requests that one case sends to an adapter, recorded in its transcript."""

    def __init__(
        self, link: Link, transcript: Transcript, *, within_s: float = ANSWER_WITHIN_S
    ) -> None:
        self.link = link
        self._transcript = transcript
        self._within_s = within_s
        link.answer_within_s = min(link.answer_within_s, within_s)

    def ask(
        self,
        op: str,
        fields: Members | None = None,
        *,
        schema: str = "",
        waits: float = 0.0,
    ) -> Answer:
        """Send a request for an operation and return the answer.

        ``waits``: the operation may take so many seconds by its nature. ``fields`` as a text have
        the operation in them.

        Raises:
            TargetUnreachable: the adapter has ended, breaks the protocol, or its answer breaks the
                schema.
            TargetSilent: the adapter does not answer in time.
        """
        text = fields if isinstance(fields, bytes) else _request_text(op, fields or {})
        self._transcript.add("request", LANE, data=text)
        answer = self._request(op, fields or {}, waits)
        self._transcript.add("response", LANE, data=json_line(_told(answer)).encode())
        if schema and isinstance(answer, Result):
            for fault in json_schema.check(schema, answer.fields):
                raise TargetUnreachable(
                    f"{self.link.name}: the answer to {op}: {fault.pointer}: {fault.text}"
                )
        return answer

    def demand(
        self,
        op: str,
        fields: Fields | None = None,
        *,
        schema: str = "",
        waits: float = 0.0,
    ) -> dict[str, JsonValue]:
        """Send a request that must succeed, since a case depends on it.

        Return the answer's fields.

        Raises:
            ArrangementFailed: the operation failed, or is not supported.
            TargetUnreachable, TargetSilent: as `ask`.
        """
        answer = self.ask(op, fields, schema=schema, waits=waits)
        if isinstance(answer, Result):
            return answer.fields
        raise ArrangementFailed(f"{op}: {describe(answer)}")

    def _request(self, op: str, fields: Members, waits: float) -> Answer:
        try:
            answer = self.link.request(op, fields, within=waits + self.link.answer_within_s)
        except TargetSilent:
            self.link.answer_within_s = HUNG_S
            raise
        self.link.answer_within_s = self._within_s
        return answer


def describe(answer: Answer) -> str:
    """Return an adapter's answer in words."""
    if isinstance(answer, Failure):
        return f"error {answer.code} {answer.message}".replace("  ", " ")
    if isinstance(answer, Unsupported):
        return f"{answer.what} is unsupported"
    return "ok"


def _request_text(op: str, fields: Fields) -> bytes:
    told: dict[str, JsonValue] = {"op": op, **fields}
    return json_line(told).encode()


def _told(answer: Answer) -> JsonValue:
    if isinstance(answer, Result):
        return {"ok": answer.fields}
    if isinstance(answer, Failure):
        return {"error": {"code": answer.code, "message": answer.message}}
    return {"unsupported": answer.what}
