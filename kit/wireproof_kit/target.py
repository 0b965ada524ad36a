"""The target a user names: one URL, with keys that have one name everywhere."""

from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from wireproof_kit.errors import UsageFault

KEYS = ("http", "lookupd", "data", "control", "tls", "cacert", "cert", "key", "auth_env")
FILES = ("cacert", "cert", "key")
ON_FILES = "+file"
"""Ends a scheme whose targets are files or folders, not addresses."""


@dataclass(frozen=True, slots=True)
class Target:
    """A broker, or documents: protocol, address or path, and what else the user gave.

    ``http``, ``control`` and each of ``lookupd`` are HOST:PORT; ``data`` is the broker's data
    directory. Without a host the lookup servers are asked for the nodes. With ``tls`` every
    connection goes over to TLS: ``cacert`` is trusted, ``cert`` and ``key`` are shown.
    ``auth_env`` names the environment variable that holds the secret of AUTH. ``path`` is the
    file or folder of documents, ``kind`` what they are, as their protocol names it.
    """

    url: str
    protocol: str
    host: str
    port: int
    http: str | None = None
    lookupd: tuple[str, ...] = ()
    data: Path | None = None
    control: str | None = None
    tls: bool = False
    cacert: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    auth_env: str | None = None
    path: Path | None = None
    kind: str | None = None

    def given(self) -> tuple[str, ...]:
        """Name the keys the user gave."""
        return tuple(key for key in KEYS if getattr(self, key))

    def is_loopback(self) -> bool:
        """Tell whether the target is on this machine's loopback."""
        hosts = (
            [self.host] if self.host else [urlsplit(f"//{each}").hostname for each in self.lookupd]
        )
        return all(_is_loopback(host or "") for host in hosts)


def is_url(text: str) -> bool:
    """Tell whether a word of a command line names a target, rightly or wrongly."""
    return "://" in text or text.partition(":")[0].endswith(ON_FILES)


def parse_target(url: str, schemes: tuple[str, ...]) -> Target:
    """Read ``PROTOCOL://HOST:PORT[?http=…&lookupd=…&data=…&control=…]``.

    HOST:PORT may be left out where ``lookupd`` names servers that know the nodes. A scheme that
    ends in ``+file`` takes a path instead: ``PROTOCOL+file:PATH[?kind=…]``.

    Raises:
        UsageFault: the URL is empty, of an unknown protocol, without a port or path, or has an
            unknown key.
    """
    if not url.strip():
        raise UsageFault("the broker URL is empty; give e.g. nsq://127.0.0.1:4150")
    scheme = url.partition(":")[0]
    if scheme.endswith(ON_FILES) and scheme in schemes:
        return _documents(url, scheme)
    parts = urlsplit(url)
    if parts.scheme not in schemes or parts.scheme.endswith(ON_FILES):
        known = ", ".join(f"{n}:PATH" if n.endswith(ON_FILES) else f"{n}://" for n in schemes)
        raise UsageFault(f"{url}: protocol expected to be one of {known}; found {parts.scheme!r}")
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    host, port = "", 0
    if parts.netloc or "lookupd" not in dict(pairs):
        host, port = _address(url, parts.hostname, _port(url))
    target = Target(url=url, protocol=parts.scheme, host=host, port=port)
    for key, value in pairs:
        target = with_key(target, key, value)
    return target


def with_key(target: Target, key: str, value: str) -> Target:
    """Return the target with one more thing the user gave.

    Raises:
        UsageFault: the key is unknown, or its value is no address, directory, file or such.
    """
    if target.path is not None:
        raise UsageFault(f"{key} says nothing about documents ({target.url}); leave it out")
    return _with_value(target, key, value)


def _with_value(target: Target, key: str, value: str) -> Target:
    if key == "http":
        return replace(target, http=host_and_port(value, key))
    if key == "lookupd":
        addresses = tuple(host_and_port(item, key) for item in value.split(",") if item)
        return replace(target, lookupd=target.lookupd + addresses)
    if key == "control":
        return replace(target, control=host_and_port(value, key))
    if key == "data":
        return replace(target, data=_directory(value))
    if key == "tls":
        return replace(target, tls=_truth(value, key))
    if key == "auth_env":
        return replace(target, auth_env=value)
    if key in FILES:
        return _with_file(target, key, value)
    raise UsageFault(f"target key {key!r} is unknown; expected one of {', '.join(KEYS)}")


def host_and_port(text: str, key: str) -> str:
    """Return HOST:PORT of ``http://HOST:PORT`` or ``HOST:PORT``.

    Raises:
        UsageFault: there is no host or no port.
    """
    whole = text if "://" in text else f"http://{text}"
    parts = urlsplit(whole)
    host, port = _address(text, parts.hostname, _port(whole), of=key)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _documents(url: str, scheme: str) -> Target:
    """Read what follows the scheme: a path to the letter, then perhaps its one key."""
    path, mark, query = url.removeprefix(f"{scheme}:").partition("?")
    form = f"expected {scheme}:PATH or {scheme}:///PATH"
    if path.startswith("//"):
        if not path.startswith("///"):
            raise UsageFault(f"{url}: {form}; found a host")
        path = path.removeprefix("//")
    if not path:
        raise UsageFault(f"{url}: {form}; found no path")
    key, _, kind = query.partition("=")
    if mark and (key != "kind" or not kind):
        raise UsageFault(f"{url}: target key expected to be kind=KIND; found {query!r}")
    protocol = scheme.removesuffix(ON_FILES)
    return Target(url=url, protocol=protocol, host="", port=0, path=Path(path), kind=kind or None)


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _port(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError as error:
        raise UsageFault(f"{url}: port expected to be 1 to 65535; {error}") from error


def _address(url: str, host: str | None, port: int | None, of: str = "target") -> tuple[str, int]:
    if not host or not port:
        raise UsageFault(
            f"{of} {url!r}: expected HOST:PORT, found no {'port' if host else 'host'}"
        )
    return host, port


def _truth(text: str, key: str) -> bool:
    if text not in ("true", "false"):
        raise UsageFault(f"{key} {text!r}: expected true or false")
    return text == "true"


def _with_file(target: Target, key: str, text: str) -> Target:
    path = Path(text)
    if not path.is_file():
        raise UsageFault(f"--{key} {text}: there is no such file; a PEM file is needed")
    if key == "cacert":
        return replace(target, cacert=path)
    return replace(target, cert=path) if key == "cert" else replace(target, key=path)


def _directory(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        raise UsageFault(f"data directory {text!r} does not exist or is not a directory")
    return path
