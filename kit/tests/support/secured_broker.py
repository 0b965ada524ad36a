"""A reference broker that asks for TLS and AUTH, and the files that it needs."""

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import trustme

VARIABLE = "BROKER_SECRET"
SECRET = "a secret of many letters"


class Papers:
    """An authority and files with what it issued."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._authority = trustme.CA()
        self.authority = folder / "authority.pem"
        self._authority.cert_pem.write_to_path(self.authority)

    def issued(self, host: str, *, expired: bool = False) -> tuple[Path, Path]:
        """Return the files of a certificate for a host and of its key."""
        ago = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
        leaf = self._authority.issue_cert(host, not_after=ago if expired else None)
        certificate = self._folder / f"{host}-{expired}.pem"
        key = self._folder / f"{host}-{expired}-key.pem"
        leaf.private_key_pem.write_to_path(key)
        leaf.cert_chain_pems[0].write_to_path(certificate)
        return certificate, key


def guarded(papers: Papers, *, host: str = "127.0.0.1", expired: bool = False) -> tuple[str, ...]:
    """Return the options of a reference that asks for TLS and AUTH."""
    certificate, key = papers.issued(host, expired=expired)
    files = ("--tls-cert", str(certificate), "--tls-key", str(key))
    return (*files, "--tls-required", "--auth-secret-env", VARIABLE)


@contextmanager
def served(*options: str) -> Generator[str]:
    """Run a reference broker and yield its URL."""
    addresses = ("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json")
    command = [sys.executable, "-m", "wireproof", "serve", "nsq", *addresses, *options]
    environment = {**os.environ, VARIABLE: SECRET}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            yield f"nsq://{ready['tcp']}?http={ready['http']}"
        finally:
            process.kill()
