"""Which event loop a server runs on."""

import asyncio
import sys

import pytest
import uvloop

from wireproof_reference_impl.command import libuv_loop, run_until_told


def _loop_of_a_run(*, in_pieces: bool) -> type[asyncio.AbstractEventLoop]:
    found: list[asyncio.AbstractEventLoop] = []

    async def served() -> int:
        found.append(asyncio.get_running_loop())
        return 7

    assert run_until_told(served, in_pieces=in_pieces) == 7
    return type(found[0])


def _type_of(loop: asyncio.AbstractEventLoop) -> type[asyncio.AbstractEventLoop]:
    loop.close()
    return type(loop)


def test_a_server_runs_on_uvloop() -> None:
    assert _loop_of_a_run(in_pieces=False) is uvloop.Loop


def test_what_is_to_be_sent_in_pieces_is_left_to_a_loop_that_does_not_join_them() -> None:
    assert _loop_of_a_run(in_pieces=True) is _type_of(asyncio.new_event_loop())


def test_without_uvloop_it_is_the_loop_of_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert _type_of(libuv_loop()) is _type_of(asyncio.new_event_loop())
