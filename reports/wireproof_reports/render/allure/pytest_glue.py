"""The pytest plug-in that fits the kit's cases into what allure-pytest writes.

It does nothing unless allure-pytest is told to write (``--alluredir``) and the kit's own plug-in
is there. A case's result becomes
the same as the one rendered from a bundle, with the times at which it really ran.
"""

from typing import cast

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Join allure-pytest when it writes, in the process that runs cases and where it is begun."""
    folder = cast(str | None, getattr(config.option, "allure_report_dir", None))
    is_watched = hasattr(config.pluginmanager.hook, "pytest_wireproof_judged")
    if folder and is_watched and not config.getoption("collectonly"):
        from wireproof_reports.render.allure.joined import join

        join(config, folder)
