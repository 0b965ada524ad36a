import gzip
from pathlib import Path

import pytest
from bundle_fixture import header, write_bundle

from wireproof_reports.bundle_file import BundleFault, read_bundle


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "run.jsonl")


def refusal(path: Path) -> str:
    with pytest.raises(BundleFault) as caught:
        read_bundle(path)
    sentence = str(caught.value)
    assert path.name in sentence
    assert "\n" not in sentence
    return sentence


def test_whole_bundle(whole: Path) -> None:
    bundle = read_bundle(whole)

    assert bundle.name == "run.jsonl"
    assert len(bundle.cases) == sum(bundle.footer.verdicts.values())
    assert set(bundle.footer.verdicts) == {case.verdict for case in bundle.cases}
    assert len(set(bundle.footer.verdicts)) == 8


def test_compressed_bundle(whole: Path, tmp_path: Path) -> None:
    packed = tmp_path / "run.jsonl.gz"
    packed.write_bytes(gzip.compress(whole.read_bytes()))

    bundle, plain = read_bundle(packed), read_bundle(whole)
    assert (bundle.header, bundle.cases, bundle.footer) == (
        plain.header,
        plain.cases,
        plain.footer,
    )


def test_cut_compressed_bundle(whole: Path, tmp_path: Path) -> None:
    packed = tmp_path / "run.jsonl.gz"
    packed.write_bytes(gzip.compress(whole.read_bytes())[:-40])

    assert "cannot read" in refusal(packed)


def test_missing_file(tmp_path: Path) -> None:
    assert "cannot read" in refusal(tmp_path / "none.jsonl")


def test_directory(tmp_path: Path) -> None:
    assert "cannot read" in refusal(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\n", b"   \n"])
def test_empty_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(content)

    assert "is empty" in refusal(path)


@pytest.mark.parametrize(
    "content",
    [
        b"hello\n",
        b"{}\n",
        b"[]\n",
        b'{"kind":"case"}\n',
        b'{"kind":"header"}\n',
        b'{"kind":"header","format":"x"}\n',
        b"\xff\xfe\n",
        b"PK\x03\x04",
        bytes(range(256)) * 16,
    ],
)
def test_foreign_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign.jsonl"
    path.write_bytes(content)

    assert f"{path} is not a bundle" in refusal(path)


def test_newer_format(tmp_path: Path) -> None:
    path = write_bundle(tmp_path / "newer.jsonl", first=header(format=2))

    assert "bundle format 2" in refusal(path)


def test_newer_format_of_another_shape(tmp_path: Path) -> None:
    path = tmp_path / "newer.jsonl"
    path.write_bytes(b'{"kind":"header","format":9,"target":"elsewhere"}\n')

    assert "bundle format 9" in refusal(path)


def test_every_truncation_is_told(whole: Path) -> None:
    data = whole.read_bytes()
    for size in [*range(1, 600, 37), *range(600, len(data) - 1, len(data) // 40)]:
        whole.write_bytes(data[:size])

        assert refusal(whole)


def test_without_footer(whole: Path) -> None:
    lines = whole.read_bytes().splitlines(keepends=True)
    whole.write_bytes(b"".join(lines[:-1]))

    assert "is cut off" in refusal(whole)


def test_changed_line(whole: Path) -> None:
    whole.write_bytes(whole.read_bytes().replace(b'"seed":7319', b'"seed":7320'))

    assert "was changed" in refusal(whole)


def test_two_bundles_in_one_file(whole: Path) -> None:
    data = whole.read_bytes()
    whole.write_bytes(data + data)

    assert "split the file" in refusal(whole)


def test_second_header(whole: Path) -> None:
    lines = whole.read_bytes().splitlines(keepends=True)
    whole.write_bytes(b"".join([lines[0], *lines]))

    assert "second header" in refusal(whole)


def test_damaged_line_is_named(whole: Path) -> None:
    lines = whole.read_bytes().splitlines(keepends=True)
    whole.write_bytes(b"".join([lines[0], lines[1], b"{]\n", *lines[2:]]))

    assert "line 3 is damaged" in refusal(whole)


def test_protocol_of_another_version(tmp_path: Path) -> None:
    target = {"url": "mqx://h:1", "protocol": "mqx"}
    path = write_bundle(tmp_path / "other.jsonl", first=header(target=target))

    with pytest.raises(BundleFault, match="protocol 'mqx' is unknown"):
        read_bundle(path).catalogue()


@pytest.mark.parametrize("protocol", ["..", "nsq.names", "os.path", "", "record", "catalogue"])
def test_protocol_is_no_way_to_other_modules(tmp_path: Path, protocol: str) -> None:
    target = {"url": "x://h:1", "protocol": protocol}
    path = write_bundle(tmp_path / "other.jsonl", first=header(target=target))

    with pytest.raises(BundleFault, match="is unknown"):
        read_bundle(path).catalogue()
