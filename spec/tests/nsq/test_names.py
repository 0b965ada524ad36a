import pytest

from wireproof_spec.nsq.names import is_header_name, is_valid_name


@pytest.mark.parametrize(
    "name", ["t", "a.b-c_D9", ".", "..", "n" * 64, "t#ephemeral", "n" * 54 + "#ephemeral"]
)
def test_legal_topic_and_channel_names(name: str) -> None:
    assert is_valid_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "n" * 65, "#ephemeral", "a b", "a\n", "a!", "é", "t#other", "n" * 55 + "#ephemeral", "٣"],
)
def test_illegal_topic_and_channel_names(name: str) -> None:
    assert not is_valid_name(name)


@pytest.mark.parametrize("name", ["##trace_id", "a-b", "_", "#", "-", "X9"])
def test_legal_header_names(name: str) -> None:
    assert is_header_name(name)


@pytest.mark.parametrize("name", ["", "a b", "a.b", "a\n", "é", "$"])
def test_illegal_header_names(name: str) -> None:
    assert not is_header_name(name)
