"""The scripts of findings over HTTP, for the recorded target and for another one."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from finding_scripts import NOBODY, address, find, header, run_script, write_script

from wireproof_kit.fuzz.campaign.target import start_alone
from wireproof_kit.fuzz.case import Case, Step

pytestmark = [pytest.mark.process, pytest.mark.slow]


def half_an_escape(names: Mapping[str, str]) -> Case:
    """Publish with a percent sign in the query that two digits do not follow."""
    head = f"POST /pub?topic={names['plain']}&x=%2 HTTP/1.1\r\nHost: here\r\n"
    data = f"{head}Content-Length: 4\r\n\r\nbody".encode()
    return Case(0, "fresh", "POST /pub", "query", "text", (Step(data),), delimited=True)


def test_http_requests_of_a_script_go_to_the_target_that_is_named(tmp_path: Path) -> None:
    fault = ("--fault", "parser-http-escape-deafens")
    with closing(start_alone("nsq", fault)) as faulty:
        finding = find(faulty.url, "no-answer", half_an_escape)
        script = write_script(tmp_path, finding, header(faulty.url))
        of_the_faulty = run_script(script)
    with closing(start_alone("nsq", fault)) as fresh, closing(start_alone("nsq")) as right:
        web = {url: parse_qs(urlsplit(url).query)["http"][0] for url in (fresh.url, right.url)}
        of_the_fresh = run_script(script, address(fresh.url), "--http", web[fresh.url])
        of_the_right = run_script(script, address(right.url), "--http", web[right.url])

    assert of_the_faulty.returncode == 0, of_the_faulty.stdout + of_the_faulty.stderr
    assert of_the_fresh.returncode == 0, of_the_fresh.stdout + of_the_fresh.stderr
    assert of_the_right.returncode == 1, of_the_right.stdout + of_the_right.stderr
    assert run_script(script, NOBODY).returncode == 2
    assert "--http HOST:PORT" in run_script(script, "--help").stdout
