"""An adapter of a small broker in memory; replace `Queue` by calls of your own client."""

import json
import sys
import threading
import time

ATTRIBUTES = ["correlationId", "messageKey", "traceId", "storeTimestamp", "deliveryCount", "nack"]
HELLO = {"hello": "wireproof-driver", "versions": [1], "name": "memory", "version": "1"}
changed, writing = threading.Condition(), threading.Lock()
queues, unsettled = {}, {}


def now_ms():
    """Return the milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def create_destination(destination):
    """Create a queue or topic."""
    queues.setdefault(destination, {})


def send(message):
    """Queue a message for every group; return it with what the server has set."""
    inner = message["message"]
    inner["header"] |= {"messageId": f"m{time.time_ns()}", "bornTimestamp": now_ms()}
    inner["header"]["bornHost"] = "localhost"
    inner.setdefault("extensionHeader", {})["storeTimestamp"] = now_ms()
    with changed:
        for waiting in queues[inner["header"]["destination"]].values():
            waiting.append((json.dumps(message), 1))
        changed.notify_all()
    return {"message": message}


def receive(destination, group, max, timeout_ms):
    """Return messages as soon as there are some, or none when the time is over."""
    with changed:
        waiting = queues[destination].setdefault(group, [])
        changed.wait_for(lambda: waiting, timeout_ms / 1000)
        taken, waiting[:] = waiting[:max], waiting[max:]
        return {"messages": [deliver(waiting, text, count) for text, count in taken]}


def deliver(waiting, text, count):
    """Return a message with its receipt and its deliveryCount, and note it as unsettled."""
    message, receipt = json.loads(text), f"r{time.time_ns()}-{len(unsettled)}"
    message["message"]["extensionHeader"]["deliveryCount"] = count
    unsettled[receipt] = (waiting, text, count)
    return {"receipt": receipt, "message": message}


def ack(receipt):
    """Forget a delivered message: it was consumed."""
    unsettled.pop(receipt)


def nack(receipt):
    """Queue a delivered message again: it could not be consumed."""
    with changed:
        waiting, text, count = unsettled.pop(receipt)
        waiting.append((text, count + 1))
        changed.notify_all()


def clock():
    """Return the server's time."""
    return {"now_ms": now_ms()}


KNOWN = (create_destination, send, receive, ack, nack, clock)
OPERATIONS = {each.__name__: each for each in KNOWN}
OPERATIONS |= {"open": lambda version, settings: None, "close": lambda: None}


def answer(id, op, **members):
    """Carry out one request of the kit and write its answer."""
    try:
        told = {"ok": OPERATIONS[op](**members) or {}} if op in OPERATIONS else {"unsupported": op}
    except Exception as error:
        told = {"error": {"message": f"{type(error).__name__}: {error}"}}
    write({"id": id, **told})


def write(told):
    """Write a JSON object as a line to standard output."""
    with writing:
        print(json.dumps(told), flush=True)


write({**HELLO, "operations": list(OPERATIONS), "claims": ATTRIBUTES})
for line in sys.stdin:
    threading.Thread(target=answer, kwargs=json.loads(line), daemon=True).start()
