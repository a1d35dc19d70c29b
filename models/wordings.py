"""How servers word their refusals."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal[
    "key",
    "quota",
    "model",
    "long",
    "refused",
    "no_tools",
    "limited",
    "unreachable",
    "slow",
    "down",
    "broken",
    "cut",
    "rejected",
]

STATUS: dict[int, Kind] = {
    401: "key",
    402: "quota",
    403: "key",
    404: "model",
    408: "slow",
    409: "down",
    413: "long",
    425: "down",
    429: "limited",
}
# Names instead of classes: the packages of other providers follow the same pattern and may not be installed.
NAMES: dict[str, Kind] = {
    "AnswerRefused": "refused",
    "ContentFilterFinishReasonError": "refused",
    "AnswerCut": "cut",
    "AnswerBroken": "broken",
    "JSONDecodeError": "broken",
    "APIResponseValidationError": "broken",
    "ToolsUnbound": "no_tools",
    "ContextOverflowError": "long",
    "ModelAuthenticationError": "key",
    "ModelPermissionDeniedError": "key",
    "ModelNotFoundError": "model",
    "ModelRateLimitError": "limited",
    "ModelTimeoutError": "slow",
    "APITimeoutError": "slow",
    "TimeoutException": "slow",
    "TimeoutError": "slow",
    "ConnectTimeout": "unreachable",
    "ModelConnectionError": "unreachable",
    "APIConnectionError": "unreachable",
    "TransportError": "unreachable",
    "ConnectionError": "unreachable",
}


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE | re.DOTALL)


# The most telling come first; what a status says is only believed where no words say more.
WORDINGS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("quota", _any("insufficient.(quota|balance|credit|fund)", "credit balance is too low", "billing.hard.limit")),
    ("key", _any("api.key (is )?(not valid|invalid)", "(invalid|incorrect|wrong).api.key", "api_key_invalid")),
    (
        "long",
        _any(
            "context.(length|window|size)",
            "contextwindow",
            "(maximum|exceed(s|ed)?|max) context",
            "context the overflows",
            "(prompt|input|request) (is )?too (long|large)",
            "maximum (model|prompt) length",
            "max_model_len",
            "input token count",
            "input tokens exceed",
            "too many (input )?tokens",
            "max_new_tokens. must be <=",
            "tokens to keep from the initial prompt",
            "reduce the length of",
        ),
    ),
    (
        "refused",
        _any(
            "content.(filter|policy|management policy)", "responsibleai", "data_inspection", "moderation", r"\bflagged"
        ),
    ),
    (
        "no_tools",
        _any(
            r"(not|n't) support (the )?(use of )?(?<!parallel )(tool|function).?(s\b|use|call)",
            "(?<!parallel[_ ])(tool|function).?(calling|calls|use|s).{0,10}(is|are) not (supported|enabled|available)",
            "endpoints found that support tool use",
            "enable-auto-tool-choice",
            "tool-call-parser",
            "requires --jinja",
        ),
    ),
    (
        "model",
        _any(
            "model.?not.?(found|exist)",
            "model .{0,200}(does not exist|not found|not exist)",
            "(no such|unknown|not a valid) model",
            "invalid model (name|id)",
        ),
    ),
)
TOO_MANY = _any("rate.?limit", "too many requests")
WINDOW = re.compile(
    r"(?:maximum context length (?:is|of)|context length of(?: only)?|context window of|tokens allowed \("
    r"|context size \(|maximum (?:model|prompt) length (?:is|of)|max_model_len=|n_ctx\D{1,4}|tokens >) ?(\d{3,9})",
    re.IGNORECASE,
)
"""Finds the size of the window in what a server says of a prompt that does not fit."""
