"""Source for expressions of `this`: the parts they name become local variables."""

from collections.abc import Mapping
from typing import Any, cast

import construct.expr

from wireproof_spec.codec.source import NotGenerated

_SIGNS: Mapping[object, str] = vars(construct.expr)["opnames"]


def expression(found: object, names: Mapping[str, str]) -> str:
    """Return a construct expression as source; `names` maps parts of the record to variables.

    Raises:
        NotGenerated: the expression is a function, or names something other than an earlier part.
    """
    if isinstance(found, int):
        return str(found)
    if isinstance(found, construct.expr.BinExpr):
        binary = cast(Any, found)
        left, right = expression(binary.lhs, names), expression(binary.rhs, names)
        return f"({left} {_SIGNS[binary.op]} {right})"
    said = repr(found)
    for name, variable in names.items():
        if said == f"this[{name!r}]":
            return variable
    raise NotGenerated(said)
