"""A page about one root cause, to be sent: law, words, bytes, script, and how to contest it."""

import re
from pathlib import Path

import pytest
from bundle_fixture import header, header_name, write_bundle

from wireproof_reports.bundle_file import BundleFault
from wireproof_reports.render.html import render, write_cause
from wireproof_reports.render.page import read_page


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "run.jsonl", [header_name(b'{"a b":"1"}')])


def written(bundle: Path, wanted: str) -> str:
    out = bundle.with_name("cause.html")
    write_cause(bundle, out, wanted)
    return out.read_text("utf-8")


def test_a_page_has_all_that_a_vendor_needs(bundle: Path) -> None:
    (cause,) = read_page(bundle).causes
    page = written(bundle, cause.id)

    assert cause.law in page
    assert all(word in page for word in cause.words)
    assert cause.exchange.steps
    assert "PUB_EXT" in page
    assert "Save " in page
    assert "import socket" in page
    assert f"wireproof explain {cause.clause}" in page
    assert f'cause = "{cause.id}"' in page.replace("&#34;", '"')
    assert "If you think that this is wrong" in page


def test_the_case_that_is_named_is_the_one_that_is_shown(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "run.jsonl")
    (cause,) = (
        each for each in read_page(bundle).causes if each.clause == "ext.publish.header-name"
    )
    other = cause.others[0].id
    shown = written(bundle, other)

    assert f"wireproof replay {other} --bundle run.jsonl" in shown
    assert shown.index(f"wireproof replay {other} ") < shown.index(
        f"wireproof replay {cause.first.id} "
    )


def test_a_page_stands_alone(bundle: Path) -> None:
    (cause,) = read_page(bundle).causes
    page = written(bundle, cause.first.id)

    anchors = set(re.findall(r'id="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= anchors
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert page == written(bundle, cause.id)
    assert len(page) < len(render(bundle))


def test_the_page_of_a_client_has_no_tools_for_a_broker(tmp_path: Path) -> None:
    target = {"url": "nsq+client:./run {topic}", "protocol": "nsq", "role": "client"}
    command = "wireproof client --protocol nsq --exec './run {topic}' --role consumer"
    first = header(target=target, command=command)
    case = header_name(b'{"a b":"1"}')
    client = write_bundle(tmp_path / "client.jsonl", [case], first=first)
    (cause,) = read_page(client).causes
    for page in (written(client, cause.id), render(client)):
        shown = page.replace("&#39;", "'")
        assert f"--exec './run {{topic}}' {case.case} --role consumer" in shown
        assert "<h1>./run {topic}</h1>" in shown
        for tool in ("import socket", "nc HOST", "As bytes", "Python script", "needs nothing but"):
            assert tool not in page


def test_an_unknown_cause_is_answered_with_those_that_are_there(bundle: Path) -> None:
    (cause,) = read_page(bundle).causes
    with pytest.raises(BundleFault, match=rf"'nope'; it has {cause.id} \({cause.first.id}\)"):
        written(bundle, "nope")
    assert not bundle.with_name("cause.html").exists()
