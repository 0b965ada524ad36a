"""From observations to verdicts: the judge, known deviations, outcomes, differences."""
