"""How the project's own property tests run: the same examples everywhere, or many more.

`HYPOTHESIS_PROFILE=deep` looks further and keeps what it finds in `.hypothesis/`.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("deep", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
