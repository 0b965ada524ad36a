"""Every shape names a clause that the catalogue holds."""

import importlib
import itertools
import pkgutil

from wireproof_spec import nsq
from wireproof_spec.catalogue import load_catalogue
from wireproof_spec.decoding import Schema
from wireproof_spec.nsq.message import message_schema


def named_clauses() -> dict[str, str]:
    """Return the clause of each schema of the grammar by the schema's name."""
    names = [f"{nsq.__name__}.{module.name}" for module in pkgutil.iter_modules(nsq.__path__)]
    found: dict[str, str] = {}
    for name in names:
        for value in vars(importlib.import_module(name)).values():
            if isinstance(value, Schema):
                found[value.name] = value.clause
    for extend, ordered in itertools.product((False, True), repeat=2):
        schema = message_schema(extend=extend, ordered=ordered)
        found[schema.name] = schema.clause
    return found


def test_every_schema_names_a_clause_of_the_catalogue() -> None:
    known = {clause.id for clause in load_catalogue("nsq").clauses()}
    found = named_clauses()

    assert len(found) >= 15
    assert {name: clause for name, clause in found.items() if clause not in known} == {}
