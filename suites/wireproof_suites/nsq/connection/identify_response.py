"""The answer of a target to IDENTIFY."""

from collections.abc import Mapping

from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.wire.answers import Answer, Response
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec import strict_json
from wireproof_spec.json_schema import check

SCHEMA = "nsq/identify-response"


def observe_identify(
    answer: Answer, asked: Mapping[str, int], *, where_told: Mapping[str, object]
) -> Observation:
    """Compare the answer to IDENTIFY with its schema and with the requested values.

    The observation is ``told`` or ``told:FIELD-wrong``. A field of ``where_told`` may be absent.
    """
    seen = observe(answer)
    if seen.value != "json" or not isinstance(answer, Response):
        return seen
    value = strict_json.read(answer.data).value
    for fault in check(SCHEMA, value):
        return _wrong(fault.pointer.rpartition("/")[2] or "field", fault.due, fault.found)
    told = value if isinstance(value, dict) else {}
    if_told = {name: due for name, due in where_told.items() if name in told}
    for name, due in {**asked, **if_told}.items():
        if told.get(name) != due:
            return _wrong(name, str(due), str(told.get(name)))
    return observed("told")


def _wrong(field: str, expected: str, found: str) -> Observation:
    difference = Difference(field, None, expected, found)
    return observed(f"told:{field.replace('_', '-')}-wrong", difference=difference)
