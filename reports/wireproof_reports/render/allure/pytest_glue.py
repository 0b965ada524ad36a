"""The pytest plug-in that completes the results of allure-pytest for the kit's cases.

It does nothing unless allure-pytest writes results (``--alluredir``) and the kit's plug-in is
active. A case's result is then the same as one rendered from a bundle, with the real times.
"""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register with allure-pytest if it writes results, in workers and in the starting process."""
    folder: str | None = getattr(config.option, "allure_report_dir", None)
    is_watched = hasattr(config.pluginmanager.hook, "pytest_wireproof_judged")
    if folder and is_watched and not config.getoption("collectonly"):
        from wireproof_reports.render.allure.joined import join

        join(config, folder)
