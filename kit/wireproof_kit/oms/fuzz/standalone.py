"""Sends an adapter what a fuzz campaign found, and looks whether it does the same again.

    python3 THIS_FILE ['COMMAND' | HOST:PORT]

COMMAND starts the adapter; without it the recorded one does. HOST:PORT is an adapter over HTTP.
Only Python and the adapter are needed. Exit code: 0 if the system behaves as recorded, 1 if not,
2 if it cannot be tried.
"""

import base64
import http.client
import json
import os
import queue
import re
import shlex
import subprocess
import sys
import threading
import time
from typing import Any

CASE: dict[str, Any] = {}

ANSWER_S, ARRIVE_S, REST_S = 10.0, 30.0, 3.0
GROUP = "wp_fuzz"


class Wrong(Exception):
    """The system does what it must not do."""


class Process:
    """An adapter that is started."""

    def __init__(self, command: str) -> None:
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(shlex.split(command), stdin=pipe, stdout=pipe)
        self.lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.hello = json.loads(self.lines.get(timeout=30))

    def read(self) -> None:
        """Read what the adapter writes; an empty line is its end."""
        assert self.child.stdout
        for line in self.child.stdout:
            self.lines.put(line)
        self.lines.put(b"")

    def ask(self, number: int, text: bytes, seconds: float) -> bytes:
        """Send a request and return the line that comes back."""
        assert self.child.stdin
        try:
            self.child.stdin.write(b'{"id": %d, %s\n' % (number, text[1:]))
            self.child.stdin.flush()
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise Wrong("no answer") from None
        except OSError:
            raise Wrong("the adapter has ended") from None
        if not line:
            raise Wrong(f"the adapter has ended with exit code {self.child.wait(10)}")
        return line


class Server:
    """An adapter over HTTP."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.hello = json.loads(self.ask(0, b'{"op":"hello"}', 30))["ok"]

    def ask(self, number: int, text: bytes, seconds: float) -> bytes:
        """Send a request and return the body that comes back."""
        connection = http.client.HTTPConnection(self.address, timeout=seconds)
        try:
            connection.request("POST", "/", b'{"id": %d, %s' % (number, text[1:]))
            return connection.getresponse().read()
        except (OSError, http.client.HTTPException) as error:
            raise Wrong(f"no answer: {error}") from None
        finally:
            connection.close()


class Trial:
    """The recorded cases, tried once with an adapter."""

    def __init__(self, adapter: "Process | Server") -> None:
        self.adapter, self.number = adapter, 0
        self.names: dict[bytes, bytes] = {}
        self.stored: dict[str, dict[str, Any]] = {}
        self.name = f"wp_fuzz_again_{os.getpid()}_{time.time_ns() % 10**9}"

    def ask(self, text: bytes, seconds: float = ANSWER_S) -> dict[str, Any]:
        """Return the answer to a request."""
        self.number += 1
        line = self.adapter.ask(self.number, text, seconds)
        try:
            answer = json.loads(line)
            if answer["id"] == self.number and {"ok", "error", "unsupported"} & answer.keys():
                return dict(answer)
        except (ValueError, TypeError, KeyError):
            pass
        raise Wrong(f"no answer of the protocol: {line[:200]!r}")

    def demand(self, op: str, seconds: float = ANSWER_S, **members: object) -> dict[str, Any]:
        """Return what a request is answered that must succeed."""
        answer = self.ask(json.dumps({"op": op, **members}).encode(), seconds)
        if "ok" not in answer:
            raise Wrong(f"{op} was answered {answer}")
        return dict(answer["ok"])

    def run(self) -> None:
        """Send the cases and a plain message, and see what arrives."""
        self.demand("create_destination", destination=self.name)
        self.receive(0)
        for number, request in enumerate(CASE["requests"]):
            self.send(number, request)
        control = base64.b64encode(self.name.encode()).decode()
        header = {"destination": self.name}
        parts = {"version": "1", "header": header, "extensionHeader": {}, "properties": {}}
        self.demand("send", message={"message": {**parts, "data": control}})
        self.look(control, self.collect(control))

    def send(self, number: int, request: dict[str, Any]) -> None:
        """Send the request of a case; remember what it owes if it is accepted."""
        body = base64.b64encode(b"wp-fuzz-body%09d" % (number + 1))
        transaction = f"{self.name}_{number}"
        text = bytes.fromhex(request["text"])
        for old, new in zip(CASE["names"], (self.name, body.decode(), transaction), strict=True):
            text = text.replace(old.encode(), new.encode())
        if not text:
            return
        answer = self.ask(text)
        if "ok" not in answer:
            return
        if request["op"] not in (*self.adapter.hello["operations"], "open", "close"):
            raise Wrong(f"{request['op']} does not exist, and was answered ok")
        if request["op"] == "prepare":
            self.demand("commit", transactionId=transaction)
        if request["due"]:
            self.stored[request["due"]["key"] or body.decode()] = request["due"]

    def receive(self, seconds: float) -> list[dict[str, Any]]:
        """Return the messages that come."""
        told = {"destination": self.name, "group": GROUP, "max": 100}
        found = self.demand("receive", seconds + ANSWER_S, **told, timeout_ms=int(seconds * 1000))
        return list(found["messages"])

    def collect(self, control: str) -> dict[str, Any]:
        """Return what arrives, by its body, until all that is due is there."""
        found: dict[str, Any] = {}
        until = time.monotonic() + ARRIVE_S
        while (left := until - time.monotonic()) > 0 and not {control, *self.stored} <= {*found}:
            for each in self.receive(min(left, 1.0)):
                found.setdefault(each["message"].get("message", {}).get("data"), each["message"])
                self.demand("ack", receipt=each["receipt"])
            if control in found:
                until = min(until, time.monotonic() + REST_S)
        return found

    def look(self, control: str, found: dict[str, Any]) -> None:
        """Compare what arrived with what was sent."""
        if control not in found:
            raise Wrong("a plain message did not arrive")
        for key, due in self.stored.items():
            if key not in found:
                raise Wrong("a message did not arrive, and a later one did")
            for part in ("extensionHeader", "properties"):
                there = found[key]["message"].get(part, {})
                for name, value in due[part].items():
                    claimed = part == "properties" or name in self.adapter.hello["claims"]
                    if claimed and there.get(name) != value:
                        raise Wrong(f"{part}.{name}: sent {value!r}, found {there.get(name)!r}")


def main() -> int:
    """Try the cases and return the exit code."""
    target = sys.argv[1] if len(sys.argv) > 1 else CASE["target"]
    adapter: Process | Server | None = None
    try:
        is_address = re.fullmatch(r"[\w.\[\]:-]+:\d+", target)
        adapter = Server(target) if is_address else Process(target)
        trial = Trial(adapter)
        trial.ask(b'{"op":"open","version":1,"settings":{}}', 30)
    except (OSError, ValueError, KeyError, queue.Empty, Wrong) as error:
        print(f"{target}: cannot be tried: {error}", file=sys.stderr)
        return 2
    try:
        trial.run()
    except Wrong as wrong:
        print(f"{CASE['violated']}: {wrong}")
        return 0
    finally:
        if isinstance(adapter, Process):
            adapter.child.kill()
    print("the system does not behave as recorded")
    return 1


if __name__ == "__main__":
    sys.exit(main())
