"""Write the samples of docs/first-steps.md and README.md anew, from real runs: `make readme`.

The terminal has 80 columns.

Standard library only; it calls the command of `.venv`.
"""

import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "docs" / "first-steps.md", ROOT / "README.md")
"""The pages with samples; README.md has only one of them."""
WIREPROOF = str(ROOT / ".venv" / "bin" / "wireproof")
SHOWN_URL = "nsq://127.0.0.1:4150"
FAULT = "trace-little-endian"
FAULTY = "--fault client-trace-id-little-endian"
CLIENT = f".venv/bin/python -m wireproof_reference_impl.nsq.drive {FAULTY}"
SIZE = struct.pack("HHHH", 200, 80, 0, 0)
PARAGRAPH = "\n\n"
WAITS = re.compile(r"^(?:progress|waiting) +\[.*\n", re.MULTILINE)
"""How long a run still takes is no matter of the sample."""
REDRAWN = re.compile(r"\x1b\[\d+F\x1b\[J")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path(".venv").symlink_to(ROOT / ".venv")
        write("client", ["client", "--exec", CLIENT, "nsq/client-trace", "--failures-only"])
        write("run", ["run", "--reference", "nsq", "--timeout", "3", "--failures-only"])
        addresses = ("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", f"{folder}/data")
        serve = [WIREPROOF, "serve", "nsq", "--json", "--fault", FAULT, *addresses]
        with subprocess.Popen(serve, stdout=subprocess.PIPE) as broker:
            assert broker.stdout is not None
            url = f"nsq://{json.loads(broker.stdout.readline())['tcp']}"
            command = ["run", url, "nsq/publish/trace", "--bundle", "out/fault.jsonl"]
            write("fault", command, url)
            broker.terminate()
    return 0


def write(mark: str, command: list[str], url: str = SHOWN_URL) -> None:
    """Run a command, and put it with its output behind its mark in the pages."""
    sample = f"$ wireproof {shlex.join(command)}\n{shown(command)}".replace(url, SHOWN_URL)
    block = re.compile(rf"(<!-- {mark} -->\n```\n).*?(```\n)", re.DOTALL)
    texts = {page: page.read_text("utf-8") for page in PAGES}
    assert any(map(block.search, texts.values())), f"no page has a sample {mark!r}"
    for page, text in texts.items():
        page.write_text(block.sub(lambda m: f"{m[1]}{sample}{m[2]}", text), "utf-8")


def shown(command: list[str]) -> str:
    """Run a command in a terminal and return what the terminal shows at the end."""
    os.environ.update(TERM="xterm", NO_COLOR="1", COLUMNS="80", LINES="200")
    pid, terminal = pty.fork()
    if not pid:
        os.execv(WIREPROOF, [WIREPROOF, *command])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, SIZE)
    written = b""
    while piece := read(terminal):
        written += piece
    os.waitpid(pid, 0)
    text = WAITS.sub("", written.decode().replace("\r\n", "\n"))
    before, *redrawn = REDRAWN.split(text)
    return f"{before.partition(PARAGRAPH)[0]}{PARAGRAPH}{redrawn[-1]}" if redrawn else text


def read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other end has been closed
        return b""


if __name__ == "__main__":
    sys.exit(main())
