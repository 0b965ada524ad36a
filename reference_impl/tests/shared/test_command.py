"""The options that the reference servers share."""

from collections.abc import Sequence

import pytest

from wireproof_reference_impl.command import Parser


@pytest.mark.parametrize(
    ("given", "http"),
    [
        ([], "127.0.0.1:4151"),
        (["--tcp", "127.0.0.1:4150"], "127.0.0.1:4151"),
        (["--tcp", "127.0.0.1:4160"], "127.0.0.1:0"),
        (["--tcp", "127.0.0.1:0"], "127.0.0.1:0"),
        (["--tcp", "127.0.0.1:0", "--http", "127.0.0.1:4151"], "127.0.0.1:4151"),
    ],
)
def test_http_takes_a_free_port_where_tcp_has_not_its_usual_one(
    given: Sequence[str], http: str
) -> None:
    parser = Parser("nsq", "A server.", tcp="127.0.0.1:4150", http="127.0.0.1:4151")
    arguments = parser.parse_args(given)

    parser.complete(arguments)

    assert arguments.http == http


def test_a_server_without_tcp_has_its_usual_http_port() -> None:
    parser = Parser("oms", "A server.", http="127.0.0.1:8600")
    arguments = parser.parse_args([])

    parser.complete(arguments)

    assert arguments.http == "127.0.0.1:8600"
