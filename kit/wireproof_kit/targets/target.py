"""The target that a user names by one URL, with the same keys for every protocol."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import SplitResult, parse_qsl, unquote_plus, urlsplit

from wireproof_kit.errors import UsageFault
from wireproof_kit.wire.address import (
    add_brackets,
    format_address,
    is_host,
    is_loopback,
    split_address,
)

FILES = ("cacert", "cert", "key")
ON_FILES = "+file"
"""The end of a URL scheme whose targets are files or folders, not addresses."""
ON_CLIENTS = "+client"
"""The end of a URL scheme whose targets are command lines that start a client."""
ON_ADAPTERS = "+exec"
"""The end of a URL scheme whose targets are command lines that start a system's adapter."""
_NO_ADDRESS = (ON_FILES, ON_CLIENTS, ON_ADAPTERS)
ROLE = "role"
GENERATION = "generation"
ROLES = ("producer", "consumer", "both")

Form: TypeAlias = Literal["address", "servers", "directory", "file", "flag", "text", "choice"]


@dataclass(frozen=True, slots=True)
class TargetKey:
    """A query key of a target URL; ``help`` is its help text.

    ``form`` says which values are valid; for ``servers``, addresses of servers that know the
    nodes; for ``choice``, one of ``choices``.
    """

    form: Form
    help: str
    choices: tuple[str, ...] = ()


Keys: TypeAlias = Mapping[str, TargetKey]

USUAL_KEYS: Keys = {
    "http": TargetKey("address", "The broker's HTTP port."),
    "data": TargetKey("directory", "The broker's data directory."),
    "control": TargetKey("address", "The broker's control API, [TOKEN@]HOST:PORT."),
    "tls": TargetKey("flag", "Use TLS on every connection to the broker."),
    "cacert": TargetKey("file", "Certificate authority to trust (PEM)."),
    "cert": TargetKey("file", "Client certificate (PEM)."),
    "key": TargetKey("file", "Key of the client certificate (PEM)."),
    "auth_env": TargetKey("text", "Environment variable with the AUTH secret."),
}
"""URL keys that several protocols have; each protocol lists which of them it uses."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is tested: a broker, documents, a client or an adapter, with the keys of its URL.

    ``http``, ``control`` and each of ``servers``, by its key, are HOST:PORT. ``data`` is the
    broker's data directory. Without a host, the servers are asked for the nodes. With ``tls``
    every connection switches to TLS: ``cacert`` is trusted, ``cert`` and ``key`` authenticate the
    kit. ``auth_env`` names the environment variable with the secret of AUTH. ``path`` is the file
    or folder of documents, ``kind`` their kind, in the words of their protocol. ``command`` starts
    a client, which has a ``role``; ``adapter`` starts the adapter of a system without a wire
    format. ``generation`` is that of the protocol, if the user named it.
    """

    url: str
    protocol: str
    host: str
    port: int
    http: str | None = None
    servers: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    data: Path | None = None
    control: str | None = None
    tls: bool = False
    cacert: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    auth_env: str | None = None
    generation: str | None = None
    path: Path | None = None
    kind: str | None = None
    command: str | None = None
    role: str | None = None
    adapter: str | None = None

    def is_client(self) -> bool:
        """Return True if the target is a client program."""
        return self.command is not None

    def list_given(self) -> tuple[str, ...]:
        """Return the names of the keys that the user gave."""
        _, *others = USUAL_KEYS
        return tuple(
            key
            for key in ("http", *self.servers, *others)
            if key in self.servers or getattr(self, key)
        )

    def addresses(self) -> Iterator[tuple[str, str]]:
        """Return key and HOST:PORT of each address other than the target's main one.

        The token of the control API is not in it.
        """
        if self.http:
            yield "http", self.http
        for key, addresses in self.servers.items():
            for address in addresses:
                yield key, address
        if self.control:
            yield "control", self.control.rpartition("@")[2]

    def list_addresses(self) -> tuple[str, ...]:
        """Return HOST:PORT of each address of the target, the main one first."""
        main = (format_address((self.host, self.port)),) if self.host else ()
        return (*main, *(address for _, address in self.addresses()))

    def is_loopback(self) -> bool:
        """Return True if all addresses of the target are loopback addresses, by their numbers.

        Nodes that its servers name are not among them.
        """
        others = (split_address(address)[0] for _, address in self.addresses())
        hosts = [*filter(None, [self.host]), *others]
        return all(map(is_loopback, hosts))


def option_of(key: str) -> str:
    """Return the command line option that sets a target key."""
    return f"--{key.replace('_', '-')}"


def is_url(text: str) -> bool:
    """Return True if a command line argument looks like a target URL, even an invalid one."""
    return text.partition(":")[0].endswith(_NO_ADDRESS) or "://" in text


def command_in(url: str) -> str:
    """Return the command line that a URL starts: a client or an adapter; nothing for others."""
    scheme, _, rest = url.partition(":")
    return rest if scheme.endswith((ON_CLIENTS, ON_ADAPTERS)) else ""


def split_token(url: str) -> tuple[str, str]:
    """Return a URL as it may be shown, and its ``control`` if that has a token."""
    head, mark, query = url.partition("?")
    if command_in(url):
        return url, ""
    control, shown = "", list[str]()
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        token, at, address = unquote_plus(value).rpartition("@")
        if unquote_plus(name) == "control" and at:
            control, pair = f"{token}@{address}", f"control={address}"
        shown.append(pair)
    return head + mark + "&".join(shown), control


def parse_target(url: str, schemes: Mapping[str, Keys]) -> Target:
    """Return the target of a URL ``PROTOCOL://HOST:PORT[?http=…&data=…&control=…]``.

    HOST:PORT may be left out if a key names servers that know the nodes. A scheme that ends in
    ``+file`` takes a path instead: ``PROTOCOL+file:PATH[?kind=…]``; one that ends in ``+client``
    or ``+exec`` takes the rest as a command line. Any other ending after a ``+`` says which
    transport the address uses, as in ``PROTOCOL+http://HOST:PORT``.

    Raises:
        UsageFault: the URL is empty, of an unknown protocol, without a port or path, or has an
            unknown key.
    """
    if not url.strip():
        raise UsageFault(f"the broker URL is empty; give e.g. {next(iter(schemes))}://HOST:PORT")
    scheme = url.partition(":")[0]
    if scheme.endswith(ON_FILES) and scheme in schemes:
        return _documents(url, scheme)
    if scheme.endswith((ON_CLIENTS, ON_ADAPTERS)) and scheme in schemes:
        return _command(url, scheme)
    parts = _split(url)
    if parts.scheme not in schemes or parts.scheme.endswith(_NO_ADDRESS):
        forms = ", ".join(map(_form_of, schemes))
        raise UsageFault(f"{url}: protocol expected to be one of {forms}; found {parts.scheme!r}")
    known = schemes[parts.scheme]
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    host, port = "", 0
    if parts.netloc or not any(_form(known, key) == "servers" for key, _ in pairs):
        _refuse_further(url, parts)
        host, port = _address(url, parts.hostname, _port(url))
    shown, _ = split_token(url)
    target = Target(url=shown, protocol=parts.scheme.partition("+")[0], host=host, port=port)
    for key, value in pairs:
        target = with_key(target, key, value, known)
    return target


def with_key(target: Target, key: str, value: str, known: Keys) -> Target:
    """Return the target with one more key set; ``known`` are the keys of its protocol.

    Raises:
        UsageFault: the key is unknown, or its value is not of the key's form.
    """
    if target.path is not None:
        raise UsageFault(f"{key} cannot be used with documents ({target.url}); leave it out")
    if target.adapter is not None:
        raise UsageFault(f"{key} cannot be used with an adapter ({target.url}); leave it out")
    if target.command is not None and (key != GENERATION or key not in known):
        return _with_role(target, key, value)
    if key not in known:
        expected = f"expected one of {', '.join(known)}" if known else "it has no target keys"
        raise UsageFault(f"target key {key!r} is unknown to {target.protocol}; {expected}")
    choices = known[key].choices
    if choices and value not in choices:
        raise UsageFault(f"{key} expected to be one of {', '.join(choices)}; found {value!r}")
    return _with_value(target, key, value, known[key].form)


def _form(known: Keys, key: str) -> Form | None:
    return known[key].form if key in known else None


def _with_value(target: Target, key: str, value: str, form: Form) -> Target:
    if form == "servers":
        addresses = tuple(host_and_port(item, key) for item in value.split(",") if item)
        return replace(
            target, servers={**target.servers, key: target.servers.get(key, ()) + addresses}
        )
    if key == "http":
        return replace(target, http=host_and_port(value, key))
    if key == "control":
        token, at, address = value.rpartition("@")
        return replace(target, control=f"{token}{at}{host_and_port(address, key)}")
    if key == "data":
        return replace(target, data=_directory(value))
    if key == "tls":
        return replace(target, tls=_truth(value, key))
    if key in FILES:
        return _with_file(target, key, value)
    if key == GENERATION:
        return replace(target, generation=value)
    return replace(target, auth_env=value)


def host_and_port(text: str, key: str) -> str:
    """Return HOST:PORT from ``http://HOST:PORT`` or ``HOST:PORT``; ``key`` is for the message.

    Raises:
        UsageFault: there is no host or no port.
    """
    whole = text if "://" in text else f"http://{text}"
    parts = _split(whole)
    if parts.username is not None:
        raise UsageFault(
            f"{key}: expected HOST:PORT; found a user before it, who is not asked for"
        )
    host, port = _address(text, parts.hostname, _port(whole), of=key)
    return format_address((host, port))


def _documents(url: str, scheme: str) -> Target:
    """Parse the rest of a documents URL: a path, then at most one key."""
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


def _command(url: str, scheme: str) -> Target:
    """Parse the rest of the URL of a client or an adapter: all of it is the command line."""
    command = url.removeprefix(f"{scheme}:")
    if not command.strip():
        raise UsageFault(f"{url}: expected {scheme}:COMMAND; found no command")
    protocol, _, kind = scheme.partition("+")
    target = Target(url=url, protocol=protocol, host="", port=0)
    if f"+{kind}" == ON_ADAPTERS:
        return replace(target, adapter=command)
    return replace(target, command=command)


def _with_role(target: Target, key: str, value: str) -> Target:
    if key != ROLE:
        raise UsageFault(f"{key} cannot be used with a client ({target.url}); leave it out")
    if value not in ROLES:
        raise UsageFault(f"role expected to be one of {', '.join(ROLES)}; found {value!r}")
    return replace(target, role=value)


def _form_of(scheme: str) -> str:
    """Return what a target of a scheme begins with."""
    if scheme.endswith((ON_CLIENTS, ON_ADAPTERS)):
        return f"{scheme}:COMMAND"
    return f"{scheme}:PATH" if scheme.endswith(ON_FILES) else f"{scheme}://"


def _split(url: str) -> SplitResult:
    """Split a URL; one that Python refuses, such as one with half a bracket, is no URL."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise UsageFault(
            f"{url!r}: expected PROTOCOL://HOST:PORT, an IPv6 address in brackets; {error}"
        ) from error
    if right := add_brackets(parts.netloc):
        raise UsageFault(
            f"{url}: an IPv6 address stands in brackets; write {parts.scheme}://{right}"
        )
    return parts


def _port(url: str) -> int | None:
    parts = _split(url)
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        found = parts.netloc.rpartition(":")[2]
        raise UsageFault(f"{url}: port expected to be 1 to 65535; found {found}") from None
    return port


def _refuse_further(url: str, parts: SplitResult) -> None:
    """Refuse what stands in a URL beside host, port and keys: it would be passed over."""
    if parts.username is not None or parts.password is not None:
        raise UsageFault(
            f"{parts.scheme}://: a URL takes no user and password; auth_env=VARIABLE names the "
            "variable with a secret"
        )
    further = parts.path.strip("/") or parts.fragment
    if further:
        raise UsageFault(f"{url}: expected nothing but keys after HOST:PORT; found {further!r}")


def _address(url: str, host: str | None, port: int | None, of: str = "target") -> tuple[str, int]:
    if not host or not port:
        raise UsageFault(
            f"{of} {url!r}: expected HOST:PORT, found no {'port' if host else 'host'}"
        )
    if "%25" in host and ":" in host:
        host = host.replace("%25", "%", 1)  # the scope of an IPv6 address, as a URL writes it
    if not is_host(host):
        raise UsageFault(f"{of} {url!r}: {host!r} is no host name; expected HOST:PORT")
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
