"""The decorators of faults of the Iggy server; clauses are named without `iggy.`."""

from wireproof_reference_impl.faults import Faults
from wireproof_reference_impl.iggy.faulty.lateness import late_settings

_FAULTS = Faults("iggy.", late_settings=late_settings)
missing, boundary, wrong_value = _FAULTS.missing, _FAULTS.boundary, _FAULTS.wrong_value
extra, condition, parser_fault = _FAULTS.extra, _FAULTS.condition, _FAULTS.parser_fault
