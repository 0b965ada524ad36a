"""Where Delta's jars lie; fetching them is `make setup`'s affair."""

from pathlib import Path

import pytest

from wireproof_reports.pipeline import jars


def test_the_environment_names_the_folder_of_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(jars.VARIABLE, str(tmp_path))
    assert jars.folder() == tmp_path

    monkeypatch.delenv(jars.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert jars.folder() == tmp_path / "wireproof" / f"delta-{jars.DELTA}"


def test_a_folder_without_delta_is_none(tmp_path: Path) -> None:
    (tmp_path / "other.jar").write_bytes(b"x")
    assert jars.find_jars(tmp_path) == []

    (tmp_path / "delta-spark_4.2_2.13-4.4.0.jar").write_bytes(b"x")
    assert len(jars.find_jars(tmp_path)) == 2


def test_jars_that_are_there_are_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fetch(_where: Path) -> list[Path]:
        raise jars.JarFault("could not be fetched")

    monkeypatch.setattr(jars, "fetch", fetch)
    assert jars.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err == "wireproof: could not be fetched\n"

    (tmp_path / "io.delta_delta-spark_4.2_2.13-4.4.0.jar").write_bytes(b"x" * 2_000_000)
    assert jars.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"Delta for Spark: {tmp_path} (1 jars, 2 MB)\n"
