"""The URL of an embedded reference, from what it says when it is ready."""

import pytest

from wireproof_kit.embedded import reference_url

TCP = {"tcp": "127.0.0.1:1"}


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ({"http": "127.0.0.1:2", "data": "/d"}, "nsq://127.0.0.1:1?http=127.0.0.1:2&data=/d"),
        ({"http": None, "data": "/d", "control": None}, "nsq://127.0.0.1:1?data=/d"),
        ({"http": None, "lookupd_http": ["h:1", "h:2"]}, "nsq://127.0.0.1:1?lookupd=h:1,h:2"),
        ({"http": None}, "nsq://127.0.0.1:1"),
    ],
)
def test_what_a_reference_does_not_have_is_not_in_its_url(
    said: dict[str, str | list[str] | None], url: str
) -> None:
    assert reference_url("nsq", {**TCP, **said}) == url
