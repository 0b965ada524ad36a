"""What drivers of Python libraries share: the lines of docs/driver-protocol.md."""

import asyncio
import base64
import functools
import json
import sys
import threading

_writing = threading.Lock()
_OPERATIONS = ("produce", "consume", "create_stream", "poll", "send")
_MEMBERS = {
    *("id", "op", "version", "settings"),
    *("topic", "body", "key", "ext", "tag", "trace_id"),
    *("channel", "handler", "hold_ms", "max_in_flight", "msg_timeout_ms", "ordered", "trace"),
    *("name", "strategy", "value", "count", "auto_commit", "messages", "partitioning"),
}
"""The members of requests that the libraries here can be asked for, or refuse by name."""
_NOT_OF_THE_ORIGINAL = ("key", "ext", "tag", "trace_id", "ordered", "trace")


class Unsupported(Exception):
    """Raised for what the library cannot do."""


def say(**fields):
    """Write a JSON object as a line to standard output, at once."""
    with _writing:
        print(json.dumps(fields), flush=True)


def body_of(request):
    """Return the body to publish; refuse fields that a client of the original NSQ cannot send."""
    check_original(request)
    return base64.b64decode(request["body"])


def check_original(request, *others):
    """Refuse fields that clients of the original NSQ cannot send, and these `others`."""
    for name in (*_NOT_OF_THE_ORIGINAL, *others):
        if request.get(name):
            raise Unsupported(name)


def tell_message(request, message, message_id, timestamp):
    """Write the event that a handler was given a message."""
    say(
        event="message",
        of=request["id"],
        id=message_id.hex(),
        body=base64.b64encode(message.body).decode(),
        internal_id=str(int.from_bytes(message_id[:8], "big")),
        trace_id=str(int.from_bytes(message_id[8:], "big")),
        attempts=message.attempts,
        timestamp=str(timestamp),
    )


def tell_error(request, error):
    """Write the event that the library told its user of an error."""
    say(event="error", of=request["id"], message=str(error) or repr(error))


class Client:
    """A library as its driver uses it: its methods are operations, which may be coroutines."""

    settings = None

    def open(self, request):
        """Store the settings of the request."""
        self.settings = request["settings"]

    def close(self, request):
        """Do nothing; a driver may close its connections here."""


def serve(name, version, client, lines=sys.stdin, claims=()):
    """Write the greeting, and answer requests until the input ends."""
    say(
        hello="wireproof-driver",
        versions=[1],
        name=name,
        version=version,
        operations=[verb for verb in _OPERATIONS if hasattr(client, verb)],
        claims=list(claims),
    )
    for line in lines:
        request = json.loads(line)
        try:
            say(id=request["id"], ok=_do(client, request) or {})
        except Unsupported as what:
            say(id=request["id"], unsupported=str(what))
        except Exception as error:
            message = str(error) or repr(error)
            say(id=request["id"], error={"message": message})


def _do(client, request):
    """Call the operation that a request asks for, and wait if it is a coroutine."""
    verb = request["op"]
    if verb not in ("open", "close", *_OPERATIONS) or not hasattr(client, verb):
        raise Unsupported(verb)
    for name in request:
        if name not in _MEMBERS:
            raise Unsupported(name)
    result = getattr(client, verb)(request)
    if asyncio.iscoroutine(result):
        return asyncio.run_coroutine_threadsafe(result, _start_loop()).result()
    return result


@functools.cache
def _start_loop():
    """Return an event loop that runs in a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop
