from pathlib import Path

import pytest
from bundle_fixture import write_bundle

from wireproof_reports.bundle_file import Bundle, read_bundle
from wireproof_reports.render.choices import claim_views, reading_views


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    return read_bundle(write_bundle(tmp_path / "b.jsonl"))


def test_other_readings_stand_first_with_the_peers_that_show_them(bundle: Bundle) -> None:
    views = reading_views(bundle, bundle.catalogue())

    assert [view.other for view in views] == [True, True, False, False]
    first = views[0]
    assert (first.id, first.followed, first.cases) == ("trace-empty", "deployed", 2)
    followed = [option for option in first.options if option.followed]
    assert [(option.name, option.published) for option in followed] == [("deployed", False)]
    assert "youzan nsqd" in followed[0].peers
    assert first.exchange is not None


def test_a_reading_that_was_not_shown(bundle: Bundle) -> None:
    view = reading_views(bundle, bundle.catalogue())[-1]

    assert (view.id, view.followed, view.observation) == ("header-value", "", "unavailable")
    assert view.exchange is None


def test_claims_have_state_and_evidence(bundle: Bundle) -> None:
    views = {view.id: view for view in claim_views(bundle, bundle.catalogue())}

    assert views["ext"].shown == "shown"
    assert views["ext"].claimed
    assert views["tls"].state == "broken"
    assert views["upgrade"].exchange is not None
    assert views["http"].exchange is None
