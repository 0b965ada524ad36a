"""Words for what only NSQ's cases observe: alone, and before a colon."""

from wireproof_reports.wording import Words

WORDS = Words(
    alone={"trace": "a trace response, right in every field"},
    before={"trace": "a trace response, but"},
)
