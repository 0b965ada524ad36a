"""A driver of an SDK as a test uses it, and the reference of generation `apache` with a topic."""

import base64
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Self
from urllib.request import Request, urlopen

Answer = Mapping[str, Any]


class ApacheServer(NamedTuple):
    """Where a server is, and its one stream with one topic."""

    tcp: str
    http: str
    stream: int
    topic: int


class DrivenSdk:
    """A running driver, asked one thing after the other."""

    def __init__(self, command: str) -> None:
        self._process = subprocess.Popen(
            shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._asked = 0
        self.greeting = self._read()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            code = self._process.wait() if error[0] is None else 0
        finally:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()
        assert code == 0, f"exit code {code}"

    def open(self, server: ApacheServer, transport: str) -> None:
        """Tell the driver where the server is."""
        settings = {**server._asdict(), "transport": transport, "partition": 0}
        assert "ok" in self.ask("open", version=1, settings=settings)

    def ask(self, op: str, **fields: object) -> Answer:
        """Return the whole answer to a request."""
        self._asked += 1
        assert self._process.stdin is not None
        line = json.dumps({"id": self._asked, "op": op, **fields})
        print(line, file=self._process.stdin, flush=True)
        answer = self._read()
        assert answer["id"] == self._asked
        return answer

    def do(self, op: str, **fields: object) -> Any:
        """Return what a request comes to; it must succeed."""
        answer = self.ask(op, **fields)
        assert "ok" in answer, answer
        return answer["ok"]

    def poll(self, strategy: str, count: int = 10, **fields: object) -> list[Answer]:
        """Return the messages of a poll."""
        found: list[Answer] = self.do("poll", strategy=strategy, count=count, **fields)["messages"]
        return found

    def _read(self) -> Answer:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the driver ended"
        answer: Answer = json.loads(line)
        return answer


@contextmanager
def apache_server() -> Iterator[ApacheServer]:
    """Start the reference and make a stream and a topic."""
    words = ["serve", "iggy", "--generation", "apache", "--json", "--until-input-ends"]
    command = [
        sys.executable,
        "-m",
        "wireproof",
        *words,
        "--tcp=127.0.0.1:0",
        "--http=127.0.0.1:0",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            yield _with_topic(ready["tcp"], ready["http"])
        finally:
            process.kill()


def _with_topic(tcp: str, http: str) -> ApacheServer:
    token = _post(http, "/users/login", {"username": "iggy", "password": "iggy"}, "")
    shown = token["access_token"]["token"]
    stream = _post(http, "/streams", {"name": "s"}, shown)["id"]
    topic = {"name": "t", "partitions_count": 3}
    return ApacheServer(
        tcp, http, stream, _post(http, f"/streams/{stream}/topics", topic, shown)["id"]
    )


def _post(http: str, path: str, body: object, token: str) -> Any:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    request = Request(f"http://{http}{path}", json.dumps(body).encode(), headers)
    with urlopen(request) as answer:
        return json.loads(answer.read())


def in_base64(data: bytes) -> str:
    """Return bytes as the members of a line have them."""
    return base64.b64encode(data).decode()
