"""The decorators of faults of the example Iggy client; clauses lack `iggy.client.`."""

from wireproof_reference_impl.faults import Faults

_FAULTS = Faults("iggy.client.", names="client-")
missing, boundary, wrong_value = _FAULTS.missing, _FAULTS.boundary, _FAULTS.wrong_value
extra, condition, parser_fault = _FAULTS.extra, _FAULTS.condition, _FAULTS.parser_fault
