"""The decorators of faults of the NSQ broker; clauses of document 000 are named without `ext.`."""

from wireproof_reference_impl.faults import Faults

_FAULTS = Faults("ext.", "ext.", "smart.")
missing, boundary, wrong_value = _FAULTS.missing, _FAULTS.boundary, _FAULTS.wrong_value
extra, condition, late = _FAULTS.extra, _FAULTS.condition, _FAULTS.late
parser_fault = _FAULTS.parser_fault
