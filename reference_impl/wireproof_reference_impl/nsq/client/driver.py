"""The driver protocol around the example client: requests on stdin, answers and events on stdout.

`wireproof client --exec 'python -m wireproof_reference_impl.nsq.client'` judges the client so.
"""

import asyncio
from random import Random

from wireproof_reference_impl.driver_loop import Request, Say, Unsupported, present
from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.effects import Failure, Receipt
from wireproof_reference_impl.nsq.client.core.message import Message
from wireproof_reference_impl.nsq.client.core.settings import Settings, Subscribing
from wireproof_reference_impl.nsq.client.shell import Delivery, Shell
from wireproof_spec.driver.lines import (
    CLOSE,
    OPEN,
    Fields,
    from_base64,
    in_base64,
)

PRODUCE, CONSUME = "produce", "consume"


class Driver:
    """The example NSQ client as a driver: carries out the kit's requests."""

    name = "wireproof example client"
    operations: tuple[str, ...] = (PRODUCE, CONSUME)
    claims: tuple[str, ...] = ("partition", "key", "order", "ext", "trace")
    members = frozenset(
        {
            *("topic", "body", "key", "ext", "tag", "trace_id", "channel", "handler", "hold_ms"),
            *("max_in_flight", "msg_timeout_ms", "ordered", "trace"),
        }
    )

    def __init__(self, say: Say) -> None:
        self._say = say
        self._shell: Shell | None = None

    async def carry_out(self, id: int, request: Request) -> Fields:
        """Carry out a request of the kit, such as a publish, and return the answer."""
        op = request["op"]
        if op == OPEN:
            settings = _settings(request["settings"])
            self._shell = Shell(settings, Random())
            return {"ok": {}}
        if self._shell is None or op not in (PRODUCE, CONSUME, CLOSE):
            raise Unsupported(op)
        if op == PRODUCE:
            return _outcome(await self._shell.publish(request["topic"], _publish(request)))
        if op == CONSUME:
            self._consume(self._shell, id, request)
        else:
            await self._shell.close()
        return {"ok": {}}

    def _consume(self, shell: Shell, id: int, request: Request) -> None:
        loop = asyncio.get_running_loop()
        how = request["handler"]
        hold_s = request.get("hold_ms", 0) / 1000

        def handle(delivery: Delivery) -> None:
            self._say({"event": "message", "of": id, **_told(delivery.message)})
            if how == "hold":
                loop.call_later(hold_s, delivery.finish)
                return
            if how == "touch":
                delivery.touch()
            delivery.fail() if how == "fail" else delivery.finish()

        def tell(failure: Failure) -> None:
            self._say({"event": "error", "of": id, "message": failure.text, "code": failure.code})

        shell.consume(_subscribing(request), handle, tell)


def _settings(told: Request) -> Settings:
    defaults = Settings(())
    return Settings(
        lookupd=tuple(told["lookupd"]),
        lookup_interval_s=_seconds(told, "lookup_interval_ms", defaults.lookup_interval_s),
        publish_timeout_s=_seconds(told, "publish_timeout_ms", defaults.publish_timeout_s),
        heartbeat_interval_ms=told.get("heartbeat_interval_ms", defaults.heartbeat_interval_ms),
    )


def _seconds(told: Request, name: str, default: float) -> float:
    value = told.get(name)
    return value / 1000 if value is not None else default


def _publish(request: Request) -> Publish:
    key, trace_id = request.get("key"), request.get("trace_id")
    return Publish(
        body=from_base64(request["body"]),
        key=None if key is None else key.encode(),
        trace_id=None if trace_id is None else int(trace_id),
        header=request.get("ext"),
        tag=request.get("tag", ""),
    )


def _outcome(outcome: Receipt | Failure) -> Fields:
    if isinstance(outcome, Failure):
        return {"error": {"message": outcome.text, "code": outcome.code}}
    told = present(
        partition=outcome.partition,
        internal_id=_wide(outcome.internal_id),
        trace_id=_wide(outcome.trace_id),
        offset=_wide(outcome.disk_queue_offset),
        size=outcome.disk_queue_data_size,
    )
    return {"ok": dict(told)}


def _subscribing(request: Request) -> Subscribing:
    defaults = Subscribing("", "")
    return Subscribing(
        topic=request["topic"],
        channel=request["channel"],
        ordered=request.get("ordered") is True,
        trace=request.get("trace") is True,
        tag=request.get("tag", ""),
        max_in_flight=request.get("max_in_flight", defaults.max_in_flight),
        msg_timeout_ms=request.get("msg_timeout_ms", defaults.msg_timeout_ms),
    )


def _told(message: Message) -> Fields:
    return present(
        id=message.id.hex(),
        body=in_base64(message.body),
        internal_id=_wide(message.internal_id),
        trace_id=_wide(message.trace_id),
        attempts=message.attempts,
        timestamp=_wide(message.timestamp_ns),
        offset=_wide(message.disk_queue_offset),
        size=message.disk_queue_data_size,
        ext=message.header,
        tag=message.tag or None,
    )


def _wide(number: int | None) -> str | None:
    """Return an integer as the driver protocol has those that may exceed 2^53."""
    return None if number is None else str(number)
