"""Target URLs: read with all their keys, refused with what to write instead."""

from pathlib import Path

import pytest

from wireproof_kit.errors import UsageFault
from wireproof_kit.iggy.apache import APACHE
from wireproof_kit.protocols import read_target, schemes, target_keys
from wireproof_kit.targets.target import is_url, parse_target, split_token, with_key
from wireproof_spec.iggy.generation import GENERATIONS

SCHEMES = schemes()
NSQ = SCHEMES["nsq"]


def test_a_url_with_all_keys(tmp_path: Path) -> None:
    url = (
        "nsq://127.0.0.1:4150?http=127.0.0.1:4151&lookupd=http://h:1,h:2"
        f"&data={tmp_path}&control=h:3"
    )
    target = parse_target(url, SCHEMES)
    assert (target.protocol, target.host, target.port) == ("nsq", "127.0.0.1", 4150)
    assert (target.http, target.servers) == ("127.0.0.1:4151", {"lookupd": ("h:1", "h:2")})
    assert target.data == tmp_path
    assert target.control == "h:3"
    assert target.list_given() == ("http", "lookupd", "data", "control")


def test_lookup_servers_stand_for_a_broker_without_address() -> None:
    target = parse_target("nsq://?lookupd=127.0.0.1:4161", SCHEMES)
    assert (target.host, target.port) == ("", 0)
    assert target.servers == {"lookupd": ("127.0.0.1:4161",)}


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("nsq://127.0.0.9:1", True),
        ("nsq://[::1]:1", True),
        ("nsq://broker:1", False),
        ("nsq://?lookupd=127.0.0.1:1,localhost:2", True),
        ("nsq://?lookupd=127.0.0.1:1,lookup:2", False),
    ],
)
def test_loopback_is_told_from_the_rest(url: str, loopback: bool) -> None:
    assert parse_target(url, SCHEMES).is_loopback() is loopback


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("127.0.0.1:4150", "nsq://"),
        ("http://h:1", "nsq://"),
        ("nsq://h", "no port"),
        ("nsq://h:0", "1 to 65535; found 0"),
        ("nsq://h:70000", "1 to 65535; found 70000"),
        ("nsq://h:x", "port expected"),
        ("nsq://user:word@h:1", "takes no user and password"),
        ("nsq://h:1/foo", "nothing but keys after HOST:PORT; found 'foo'"),
        ("nsq://:1", "no host"),
        ("nsq://", "no host"),
        ("nsq://?http=h:1", "no host"),
        ("nsq://h:1?control=h", "no port"),
        ("nsq://h:1?htp=h:2", "'htp' is unknown to nsq; expected one of http, lookupd, data"),
        ("nsq://h:1?http=h", "no port"),
        ("nsq://h:1?data=/no/such/place", "does not exist"),
        ("oms://h:1", "oms\\+file:PATH, oms\\+exec:COMMAND, oms\\+http://; found 'oms'"),
        ("oms+exec: ", "found no command"),
        ("oms+http://h", "no port"),
        ("nsq+http://h:1", "found 'nsq\\+http'"),
        ("nsq+file:a.json", "found 'nsq\\+file'"),
        ("oms+file:", "found no path"),
        ("oms+file:?kind=message", "found no path"),
        ("oms+file://host/a.json", "found a host"),
        ("oms+file:a.json?king=message", "kind=KIND; found 'king=message'"),
        ("oms+file:a.json?kind=", "kind=KIND"),
        ("oms+file:a.json?", "kind=KIND"),
    ],
)
def test_a_wrong_url_is_one_sentence(url: str, words: str) -> None:
    with pytest.raises(UsageFault, match=words):
        parse_target(url, SCHEMES)


@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("nsq://::1:4150", "nsq://[::1]:4150"),
        ("tcp://::1:4150", "tcp://[::1]:4150"),
        ("iggy://2001:db8::7:8090?http=h:1", "iggy://[2001:db8::7]:8090"),
        ("oms+http://::1", "oms+http://[::1]:PORT"),
        ("nsq://fe80::1%eth0:4150", "nsq://[fe80::1%eth0]:4150"),
        ("nsq://1:2:3:4:5:6:7:8", "nsq://[1:2:3:4:5:6:7:8]:PORT"),
        ("nsq://h:1?http=::1:4151", "http://[::1]:4151"),
        ("nsq://?lookupd=http://::1:4161", "http://[::1]:4161"),
    ],
)
def test_an_ipv6_address_without_brackets_is_shown_with_them(url: str, right: str) -> None:
    with pytest.raises(UsageFault, match=r"an IPv6 address stands in brackets") as refused:
        parse_target(url, SCHEMES)

    assert str(refused.value).endswith(f"; write {right}")


def test_a_system_is_named_by_the_command_or_the_address_of_its_adapter() -> None:
    target = parse_target("oms+exec:java -jar 'my adapter.jar'", SCHEMES)
    assert (target.protocol, target.adapter) == ("oms", "java -jar 'my adapter.jar'")
    assert not target.is_client()
    target = parse_target("oms+http://h:1", SCHEMES)
    assert (target.protocol, target.host, target.port) == ("oms", "h", 1)
    with pytest.raises(UsageFault, match="cannot be used with an adapter"):
        with_key(parse_target("oms+exec:x", SCHEMES), "http", "h:2", NSQ)


def test_keys_beside_the_url_mean_the_same() -> None:
    target = parse_target("nsq://h:1", SCHEMES)
    assert with_key(target, "http", "http://h:2", NSQ).http == "h:2"


@pytest.mark.parametrize(
    ("url", "shown", "control"),
    [
        ("nsq://h:1?control=t@h:2", "nsq://h:1?control=h:2", "t@h:2"),
        ("nsq://h:1?http=h:3&c%6Fntrol=t%40u@h:2", "nsq://h:1?http=h:3&control=h:2", "t@u@h:2"),
        ("nsq://h:1?control=h:2", "nsq://h:1?control=h:2", ""),
        ("nsq://h:1", "nsq://h:1", ""),
        ("nsq+client:run ?control=t@h:2", "nsq+client:run ?control=t@h:2", ""),
    ],
)
def test_a_token_does_not_stand_in_the_url_that_is_shown(
    url: str, shown: str, control: str
) -> None:
    assert split_token(url) == (shown, control)
    target = read_target(url)
    assert target.url == shown
    assert target.control == (control or ("h:2" if "control=h" in url else None))
    assert "t@" not in str(list(target.addresses()))


def test_no_user_stands_before_an_address() -> None:
    with pytest.raises(UsageFault, match="found a user before it") as raised:
        read_target("nsq://h:1?http=me:secret@h:2")
    assert "secret" not in str(raised.value)


def test_each_protocol_knows_its_own_keys() -> None:
    keys = {"tick": {"http": NSQ["http"]}}
    assert parse_target("tick://h:1?http=h:2", keys).http == "h:2"
    with pytest.raises(UsageFault, match="'lookupd' is unknown to tick; expected one of"):
        parse_target("tick://h:1?lookupd=h:2", keys)
    with pytest.raises(UsageFault, match="no host"):
        parse_target("tick://?lookupd=h:2", keys)


def test_keys_are_named_once_in_the_order_of_the_table() -> None:
    names = ["http", "lookupd", "data", "control", "tls", "cacert", "cert", "key", "auth_env"]
    assert list(target_keys()) == [*names, "generation"]
    assert read_target("nsq://h:1", [("lookupd", "a:1"), ("lookupd", "b:2")]).servers == {
        "lookupd": ("a:1", "b:2")
    }


def test_a_generation_is_one_of_those_that_the_protocol_has() -> None:
    assert target_keys()["generation"].choices == (*GENERATIONS, APACHE)
    assert read_target("iggy://h:1?generation=tagged").generation == "tagged"
    assert read_target("iggy://h:1", [("generation", "published")]).generation == "published"
    with pytest.raises(UsageFault, match="one of published, tagged, apache; found 'newest'"):
        read_target("iggy://h:1?generation=newest")
    with pytest.raises(UsageFault, match="unknown to nsq"):
        read_target("nsq://h:1?generation=tagged")


@pytest.mark.parametrize(
    ("url", "path", "kind"),
    [
        ("oms+file:a b/%20.json", "a b/%20.json", None),
        ("oms+file:/a.jsonl?kind=extensionHeader", "/a.jsonl", "extensionHeader"),
        ("oms+file:///a", "/a", None),
    ],
)
def test_documents_are_a_target_by_their_path(url: str, path: str, kind: str | None) -> None:
    target = parse_target(url, SCHEMES)
    assert (target.protocol, target.path, target.kind) == ("oms", Path(path), kind)
    assert (target.host, target.list_given(), target.is_loopback()) == ("", (), True)
    with pytest.raises(UsageFault, match="cannot be used with documents"):
        with_key(target, "http", "h:1", {})


@pytest.mark.parametrize(
    ("word", "is_one"),
    [("nsq://h:1", True), ("oms+file:a", True), ("ext.publish", False), ("nsq/publish", False)],
)
def test_a_word_is_a_url_or_an_id(word: str, is_one: bool) -> None:
    assert is_url(word) is is_one
