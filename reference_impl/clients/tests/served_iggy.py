"""The Iggy reference that clients meet, and clients as programs that say what they were told."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlencode
from urllib.request import Request, urlopen

Line = Mapping[str, object]


class IggyServer(NamedTuple):
    """Where a server is."""

    tcp: str
    http: str
    control: str

    def fill(self, *payloads: str) -> None:
        """Make stream 1 with topic 1, and send payloads in base64 to its one partition."""
        self._post("/streams", {"stream_id": 1, "name": "s"})
        topic = {"topic_id": 1, "partitions_count": 1, "name": "t"}
        self._post("/streams/1/topics", topic)
        messages = [{"payload": each} for each in payloads]
        request = {"partitioning": {"kind": "balanced", "value": ""}, "messages": messages}
        self._post("/streams/1/topics/1/messages", request)

    def change(self, offset: int, **what: str) -> None:
        """Change a message of that partition by the control."""
        where = {"stream": "1", "topic": "1", "partition": "1", "offset": str(offset)}
        path = f"/control/message?{urlencode({**where, **what})}"
        token, _, address = self.control.rpartition("@")
        shown = {"Authorization": f"Bearer {token}"}
        request = Request(f"http://{address}{path}", headers=shown, method="POST")
        with urlopen(request):
            pass

    def _post(self, path: str, body: object) -> None:
        request = Request(
            f"http://{self.http}{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urlopen(request):
            pass


@contextmanager
def iggy_server(*options: str) -> Iterator[IggyServer]:
    """Start a server; it ends well at the end."""
    anywhere = [f"--{name}=127.0.0.1:0" for name in ("tcp", "http", "control")]
    command = [sys.executable, "-m", "wireproof", "serve", "iggy", "--json", *anywhere, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            yield IggyServer(ready["tcp"], ready["http"], ready["control"])
            process.terminate()
            code = process.wait()
            assert code == 0, f"the server ended with {code}"
        finally:
            process.kill()


def said_by(command: Sequence[str]) -> list[Line]:
    """Run a client to its end and return what it said."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1] == {"event": "done"}
    return lines


def one(lines: Sequence[Line], event: str, of: str = "") -> Line:
    """Return the one line of an event, or of an event of something."""
    found = [each for each in lines if each["event"] == event and each.get("of", "") == of]
    assert len(found) == 1, (event, of, found)
    return found[0]


def messages_of(lines: Sequence[Line], of: str) -> list[Line]:
    """Return the messages of a poll."""
    messages = one(lines, "polled", of)["messages"]
    assert isinstance(messages, list)
    return messages


def values_of(lines: Sequence[Line], of: str, name: str) -> list[object]:
    """Return one field of each message of a poll."""
    return [each[name] for each in messages_of(lines, of)]
