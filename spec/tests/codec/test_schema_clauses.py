"""Every shape names a clause that the catalogue holds."""

import importlib
import itertools
import pkgutil
from types import ModuleType

import pytest

from wireproof_spec import iggy, nsq
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.decoding import Schema
from wireproof_spec.nsq.message import message_schema


def named_clauses(grammar: ModuleType) -> dict[str, str]:
    """Return the clause of each schema of a grammar, by the schema's name."""
    modules = pkgutil.walk_packages(grammar.__path__, f"{grammar.__name__}.")
    found: dict[str, str] = {}
    for name in [module.name for module in modules]:
        for value in vars(importlib.import_module(name)).values():
            if isinstance(value, Schema):
                found[value.name] = value.clause
    return found


def of_messages() -> dict[str, str]:
    """Return the same of the messages of NSQ, which are made on demand."""
    schemas = (
        message_schema(extend=extend, ordered=ordered)
        for extend, ordered in itertools.product((False, True), repeat=2)
    )
    return {schema.name: schema.clause for schema in schemas}


@pytest.mark.parametrize(
    ("protocol", "found"),
    [("nsq", named_clauses(nsq) | of_messages()), ("iggy", named_clauses(iggy))],
    ids=["nsq", "iggy"],
)
def test_every_schema_names_a_clause_of_the_catalogue(
    protocol: str, found: dict[str, str]
) -> None:
    known = {clause.id for clause in load_catalogue(protocol).clauses()}

    assert len(found) >= 15
    assert {name: clause for name, clause in found.items() if clause not in known} == {}
