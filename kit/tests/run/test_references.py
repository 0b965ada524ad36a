"""`wireproof run --reference`: one run for each protocol that is selected."""

from pathlib import Path
from typing import cast

import pytest
from cli_process import wireproof

from wireproof.main import main
from wireproof.options.run_options import run_options
from wireproof.options.target_choice import NamedTarget
from wireproof.running.references import requests
from wireproof.running.request import RunParameters
from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.errors import UsageFault

ALL = NamedTarget("reference")


def options(**given: object) -> RunParameters:
    usual = {
        str(param.name): () if param.multiple else None
        for param in run_options()
        if param.expose_value
    }
    return cast(RunParameters, usual | given)


def parts(*ids: str, **given: object) -> list[tuple[str | None, tuple[str, ...], tuple[str, ...]]]:
    found = requests(NamedTarget("reference", ids), options(**given))
    return [(named.protocol, named.prefixes, own["exclude"]) for named, own in found]


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ((), [("nsq", ()), ("iggy", ()), ("oms", ())]),
        (("nsq/publish",), [("nsq", ("nsq/publish",))]),
        (("iggy",), [("iggy", ("iggy",))]),
        (("nsq", "ext.publish", "nsq/http"), [("nsq", ("ext.publish", "nsq/http"))]),
        (("nsq", "iggy/message"), [("nsq", ("nsq",)), ("iggy", ("iggy/message",))]),
        (("nsq", "ext.publsh"), [("nsq", ("ext.publsh",))]),
        (("ext.publish",), [("nsq", ("ext.publish",))]),
        (("iggy", "ext", "nsq/http"), [("nsq", ("ext", "nsq/http")), ("iggy", ("iggy",))]),
        (("iggy", "ext.publsh"), [("iggy", ("ext.publsh",))]),
        (("ext.publsh",), [("nsq", ("ext.publsh",))]),
    ],
)
def test_ids_go_with_their_protocol(
    ids: tuple[str, ...], expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert [(protocol, own) for protocol, own, _ in parts(*ids)] == expected


def test_a_wide_selection_is_named_before_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    named = ["run", "--dry-run"]
    assert main([*named, "--reference", "nsq", "ext.publish.trace-response"]) == 0
    narrow = capsys.readouterr()
    assert main([*named, "nsq://127.0.0.1:1", "nsq", "ext", "ext.publish.trace-response"]) == 0
    wide = capsys.readouterr()

    assert 0 < len(narrow.out.splitlines()) < len(wide.out.splitlines()) / 9
    assert "contains" not in narrow.err
    told = [line for line in wide.err.splitlines() if "contains" in line]
    assert len(told) == 1
    assert "'nsq' contains 'ext', 'ext.publish.trace-response'" in told[0]


def test_what_is_left_out_goes_with_its_protocol() -> None:
    assert parts(exclude=("nsq/http", "typo")) == [
        ("nsq", (), ("nsq/http", "typo")),
        ("iggy", (), ()),
        ("oms", (), ()),
    ]
    assert parts(exclude=("nsq", "oms")) == [("iggy", (), ())]
    assert parts(exclude=("nsq", "iggy", "oms")) == [
        ("nsq", (), ("nsq",)),
        ("iggy", (), ("iggy",)),
        ("oms", (), ("oms",)),
    ]


@pytest.mark.slow
def test_words_leave_only_protocols_with_such_cases() -> None:
    assert [part[0] for part in parts(expression="subscribe")] == ["nsq"]
    with pytest.raises(UsageFault, match="-k 'no-such-case' selects no case"):
        parts(expression="no-such-case")


def test_a_target_with_a_url_is_one() -> None:
    named = NamedTarget("nsq://h:1", ("iggy",))
    said = options()

    assert requests(named, said) == [(named, said)]


@pytest.mark.process
def test_each_reference_leaves_a_bundle(tmp_path: Path) -> None:
    ids = ("nsq/publish/trace/one", "iggy/checksum/published-example")

    done = wireproof("run", "--reference", *ids, "--bundle", "b.jsonl", cwd=tmp_path)

    found = [read_bundle(tmp_path / name) for name in ("b.jsonl", "b-iggy.jsonl")]
    assert done.code == max(bundle.footer.exit for bundle in found if bundle.footer)
    assert [bundle.header.target.protocol for bundle in found] == ["nsq", "iggy"]
    assert [bundle.header.selection for bundle in found] == [(ids[0],), (ids[1],)]
