"""Classifies the errors of failed model calls: what happened, whether to retry, and the message for
the user."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal
from urllib.parse import urlsplit

from ..errors import (
    ContentRefused,
    DeepResearchError,
    KeyRefused,
    ModelFailed,
    ModelMissing,
    PromptTooLong,
    RateLimited,
)
from ..settings.network import connection_problem

FaultKind = Literal[
    "key", "quota", "model", "long", "refused", "no_tools", "bad_call", "limited", "unreachable",
    "slow", "down", "broken", "cut", "rejected",
]  # fmt: skip
"""What went wrong with a call; `_TEXTS` has the message for each kind."""

_KIND_BY_STATUS: dict[int, FaultKind] = {
    401: "key", 402: "quota", 403: "key", 404: "model", 408: "slow", 409: "down", 413: "long",
    425: "down", 429: "limited",
}  # fmt: skip
# Class names instead of classes, whose packages may not be installed; other providers use the same
# names.
_CLASS_NAMES: dict[FaultKind, str] = {
    "refused": "AnswerRefused ContentFilterFinishReasonError",
    "cut": "AnswerCut",
    "broken": "AnswerBroken AnswerTooLarge JSONDecodeError APIResponseValidationError",
    "no_tools": "ToolsUnbound",
    "long": "ContextOverflowError PromptCut",
    "key": "ModelAuthenticationError ModelPermissionDeniedError",
    "model": "ModelNotFoundError",
    "limited": "ModelRateLimitError",
    "slow": "ModelTimeoutError APITimeoutError TimeoutException TimeoutError",
    "unreachable": (
        "ConnectTimeout ModelConnectionError APIConnectionError TransportError ConnectionError"
    ),
}
_KIND_BY_CLASS_NAME = {name: kind for kind, names in _CLASS_NAMES.items() for name in names.split()}
_WINDOW = re.compile(
    r"(?:maximum context length (?:is|of)|context length of(?: only)?|context window of"
    r"|tokens allowed \(|context size \(|maximum (?:model|prompt) length (?:is|of)"
    r"|max_model_len=|n_ctx\D{1,4}|tokens >) ?(\d{3,9})",
    re.IGNORECASE,
)
"""Matches the window in tokens in a server's error about a prompt that is too long."""
_AWAY_STATUSES = frozenset((502, 503, 529))
"""HTTP statuses of a server that is overloaded or restarts."""
BROKE_OFF = "an incomplete answer"
"""Describes a stream that ended without a finish reason."""
_CAUSES = 8
"""Number of causes of an error that are examined."""
_CHARACTERS = 4000
"""Number of characters of a third-party error message that are searched."""
_TRANSIENT: dict[FaultKind, str] = {
    "limited": "the provider asks to wait",
    "unreachable": "the connection failed",
    "slow": "no answer came in time",
    "down": "the provider's server failed",
    "broken": "the answer was broken",
    "cut": "the answer broke off",
    "bad_call": "its tool call could not be read",
}
"""Kinds after which the same call may succeed, with the reason for the retry as shown to the
user."""
_SENT = frozenset((
    "messages", "input", "model", "tools", "tool_choice", "parallel_tool_calls", "response_format",
    "text", "reasoning", "reasoning_effort", "max_tokens", "max_completion_tokens",
    "max_output_tokens", "stream", "stream_options", "store", "include",
))  # fmt: skip
"""Request fields that a message to the user may name; any other name in a server's error may be a
secret."""
_ERRORS: dict[FaultKind, type[DeepResearchError]] = {
    "key": KeyRefused, "quota": KeyRefused, "model": ModelMissing, "long": PromptTooLong,
    "refused": ContentRefused, "limited": RateLimited,
}  # fmt: skip
"""Error classes by kind; any other kind is a `ModelFailed`."""
_TEXTS: dict[FaultKind, str] = {
    "key": "{who} cannot be used: {host} rejects the key{http}; check {key}.",
    "quota": (
        "{who} cannot be used: no credit is left{http}; top up the account of {key}, use "
        "another key, or wait until the next day if these were the free calls of a day."
    ),
    "model": (
        "{who} is not known at {host}, or the key may not use it{http}; check the setting "
        "models, and OPENAI_BASE_URL, which often ends in /v1."
    ),
    "long": (
        "{who} got a longer prompt than it can read{window}{http}; set window to its limit, or "
        "choose a larger model (setting models)."
    ),
    "refused": (
        "{who}, or a filter of its provider, declined to answer{http}; change the question or "
        "the setting models."
    ),
    "no_tools": (
        "{who} is served without tool calling{http}; set tool_calls to schema or tags, or "
        "choose another model (setting models)."
    ),
    "bad_call": (
        "{who} writes tool calls that its server cannot read{http}; set tool_calls to schema or "
        "tags, or choose another model (setting models)."
    ),
    "limited": "{who} accepts no more calls for now{http}; {when}.",
    "unreachable": "{who} cannot be reached: {barrier}",
    "slow": "{who} {silent}.",
    "down": (
        "{who} failed at {host}{http}; try again later, or choose another model (setting models)."
    ),
    "broken": "{who} returned {what}{http}; try again{check}.",
    "cut": "{who} broke off in the middle of its answer: {what}; try again.",
    "rejected": (
        "{who} rejects the request{because}{http}; choose another model (setting models), or "
        "check OPENAI_BASE_URL."
    ),
}
"""Messages to the user, filled in with `_details`."""
_HINTS = {
    "right": ", and is OPENAI_BASE_URL right",
    "check": ", and check OPENAI_BASE_URL and the setting models",
}
"""Added to messages as long as no call has succeeded, because a setting may be wrong."""
_LATE = "did not answer in time; try again later, or choose another model (setting models)"
FAILED_OUTPUT = "failed_generation"
"""Field of an error with the model's output, if the server could not read it as a call (Groq)."""
_WORDINGS: dict[FaultKind, str] = {
    # First, because such messages may quote the model's output.
    "bad_call": (
        rf"tool_use_failed|{FAILED_OUTPUT}|failed to call a (tool|function)"
        r"|(error|failed|failure|unable|could not|cannot|can't)[^.]{0,20} pars\w+ (the )?"
        r"(model'?s? )?((tool|function).?call|output|generation)"
        r"|(tool|function).?call (parsing|parse|validation) (failed|error)"
        r"|malformed_function_call|model (generated|produced) (an? )?(invalid|malformed)"
        r"|failed to parse input at pos|harmonyerror"
    ),
    "quota": (
        "insufficient.(quota|balance|credit|fund)|credit balance is too low|billing.hard.limit"
        # Waiting for seconds does not bring them back.
        r"|free[^.]{0,40}per.?day|per.?day[^.]{0,80}free.?tier"
    ),
    "key": "api.key (is )?(not valid|invalid)|(invalid|incorrect|wrong).api.key|api_key_invalid",
    "long": (
        "context.(length|window|size)|contextwindow|(maximum|exceed(s|ed)?|max) context"
        "|context the overflows|(prompt|input|request) (is )?too (long|large)"
        "|maximum (model|prompt) length|max_model_len|input token count|input tokens exceed"
        "|too many (input )?tokens|max_new_tokens. must be <=|reduce the length of"
        "|tokens to keep from the initial prompt"
    ),
    "refused": (
        r"content.(filter|policy|management policy)|responsibleai|data_inspection|moderation"
        r"|\bflagged"
    ),
    "no_tools": (
        r"(not|n't) support (the )?(use of )?(?<!parallel )(tool|function).?(s\b|use|call)"
        r"|(?<!parallel[_ ])(tool|function).?(calling|calls|use|s).{0,10}"
        r"(is|are) not (supported|enabled|available)|endpoints found that support tool use"
        r"|enable-auto-tool-choice|tool-call-parser|requires --jinja"
    ),
    "model": (
        "model.?not.?(found|exist)|model .{0,200}(does not exist|not found|not exist)"
        "|(no such|unknown|not a valid) model|invalid model (name|id)"
    ),
}
"""Patterns by which error messages reveal the kind; the first that matches wins over the HTTP
status."""
_TOO_MANY = re.compile("rate.?limit|too many requests", re.IGNORECASE)
"""Matches a rate limit reported inside a response with status 200."""


class AnswerBroken(Exception):
    """A model's server sent something other than a complete answer."""

    def __init__(self, what: str, body: object = None) -> None:
        """`what` tells the user what was sent; `body` is the server's message, used only to
        classify the error."""
        super().__init__(what)
        self.what = what
        self.body = body


class AnswerCut(AnswerBroken):
    """An answer broke off after its first words, which shows that the settings are right."""


class PromptCut(Exception):
    """A server answered although it read only part of the prompt."""

    def __init__(self, counted: int, sent: int) -> None:
        """`counted`: prompt tokens reported by the server; `sent`: estimated tokens of the whole
        prompt."""
        super().__init__(f"{counted} of {sent} tokens")
        self.counted = counted
        self.sent = sent


class ToolsUnbound(NotImplementedError):
    """The model's class has no `bind_tools`."""


class AnswerRefused(Exception):
    """The model or a content filter declined to answer."""


class AnswerFiltered(AnswerRefused):
    """A content filter ended the answer, which it may not do to another one."""


class AnswerSilent(TimeoutError):
    """A model sent nothing for longer than the idle timeout."""

    def __init__(self, seconds: float, limit: str) -> None:
        """`limit` is the name of the limit that allowed this many seconds."""
        super().__init__(
            f"was silent for {seconds:g} s ({limit}); raise {limit} if it needs longer"
        )


def explain(error: Exception, who: str, *, has_answered: bool = False) -> DeepResearchError:
    """Return the error to show to the user (one line) for an error of a call; a general one if its
    kind is not known.

    `who` names the model (`RoleModels.subject`). `has_answered`: it has answered in this run, so
    its settings are right. Only numbers and names of request fields are taken from the original
    message, since the rest may contain the key.
    """
    if isinstance(error, DeepResearchError):
        return error
    kind = fault_kind(error)
    if kind is None:
        name = type(error).__name__
        return ModelFailed(f"{who} failed ({name}); try again, or choose another (models).")
    hints = dict.fromkeys(_HINTS, "") if has_answered else _HINTS
    details = {**_details(error), **hints}
    host = details["host"]
    problem = connection_problem(error, host)
    if problem:
        details["barrier"] = f"{problem}."
    else:
        details["barrier"] = f"the connection to {host} failed; is it up{details['right']}?"
    details["who"] = who
    return _ERRORS.get(kind, ModelFailed)(_TEXTS[kind].format_map(details))


def is_transient(error: BaseException) -> bool:
    """Whether the same call may succeed if it is repeated."""
    return fault_kind(error) in _TRANSIENT


def broken_off(error: Exception, server: str) -> Exception:
    """Return the error to raise for one that occurred after the first words of an answer.

    `server`: host of the model, if known; empty otherwise.
    """
    kind = fault_kind(error)
    if kind not in ("unreachable", "broken"):
        return error
    host = _host_of(error) or server or "its server"
    what = _details(error)["what"]
    if kind == "unreachable" or what == BROKE_OFF:
        return AnswerCut(f"the connection to {host} broke")
    return AnswerCut(f"{host} returned {what}")


def concerns_all_calls(error: BaseException, *, has_answered: bool) -> bool:
    """Whether the server accepts no calls for now, because of its rate limit or load or because it
    restarts, so that all calls should wait.

    `has_answered`: the model has answered before. If it has not, and nobody listens at its
    address, the address is wrong or the server was not started: waiting does not help.
    """
    if fault_kind(error) == "limited" or retry_after(error) is not None:
        return True
    return _status(error) in _AWAY_STATUSES or (has_answered and _is_refused(error))


def _is_refused(error: BaseException) -> bool:
    """Whether nobody listens at the address of the server, as while it restarts."""
    if fault_kind(error) != "unreachable":
        return False
    cause: BaseException | None = error
    for _ in range(_CAUSES):
        if isinstance(cause, BaseExceptionGroup):
            # Each address of a host name has failed.
            return cause.subgroup(ConnectionRefusedError) is not None
        if cause is None or isinstance(cause, ConnectionRefusedError):
            break
        cause = cause.__cause__ or cause.__context__
    return isinstance(cause, ConnectionRefusedError)


def retry_reason(error: BaseException) -> str:
    """Return the reason for repeating a call, in a few words for the user; `error` must be
    transient."""
    if isinstance(error, AnswerCut):
        return error.what
    kind = fault_kind(error) or "broken"
    reason = _TRANSIENT[kind]
    is_away = _status(error) in _AWAY_STATUSES or _is_refused(error)
    if kind in ("down", "unreachable") and is_away:
        reason = "no answer from the model's server"
    status = _status(error)
    if status:
        reason = f"{reason} (HTTP {status})"
    return reason


def retry_after(error: BaseException) -> float | None:
    """Return the seconds that the server asks to wait; None if it states none."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    stated = headers.get("retry-after") or ""
    milliseconds = headers.get("retry-after-ms")
    try:
        if milliseconds:
            seconds = float(milliseconds) / 1000
        elif stated[:1].isalpha():
            seconds = (parsedate_to_datetime(stated) - datetime.now(UTC)).total_seconds()
        else:
            seconds = float(stated)
    except (ValueError, TypeError):
        return None
    if not math.isfinite(seconds):
        return None
    return max(0.0, seconds)


def fault_kind(error: BaseException) -> FaultKind | None:
    """Return what went wrong with a call; None if the error is of no known kind, such as a bug."""
    kind = _kind_by_class_or_status(error)
    if kind == "slow" and type(error.__cause__).__name__ == "ConnectTimeout":
        # Clients raise the same error for a timeout of the connection and of the answer.
        return "unreachable"
    if kind is None or kind in ("slow", "unreachable", "cut"):
        return kind
    words = message_of(error)
    if kind == "broken" and _TOO_MANY.search(words):
        return "limited"
    for meant, pattern in _WORDINGS.items():
        if re.search(pattern, words, re.IGNORECASE | re.DOTALL):
            return meant
    return kind


def _kind_by_class_or_status(error: BaseException) -> FaultKind | None:
    """Return what went wrong as far as the error's class and HTTP status tell."""
    names = [cls.__name__ for cls in type(error).__mro__]
    known = [_KIND_BY_CLASS_NAME[name] for name in names if name in _KIND_BY_CLASS_NAME]
    kind = known[0] if known else None
    status = _status(error)
    if status is not None and kind in (None, "broken"):
        return _KIND_BY_STATUS.get(status, "down" if status >= 500 else "rejected")
    if kind is None and "APIError" in names:
        return "broken"
    return kind


def host_in(address: str) -> str:
    """Return a URL's host and port without credentials; empty if it is not a URL."""
    try:
        return urlsplit(address).netloc.rpartition("@")[2]
    except ValueError:
        return ""


def message_of(error: BaseException) -> str:
    """Return the third-party message and body, to be searched but never shown: they may contain the
    key."""
    body = getattr(error, "body", None)
    text = json.dumps(body, default=str) if body else ""
    return f"{error} {text}"[:_CHARACTERS]


def _status(error: BaseException) -> int | None:
    """Return the error's HTTP status, which some servers put in the body of a response with status
    200; or None."""
    response = getattr(error, "response", None)
    stated = [getattr(error, "status_code", None), getattr(response, "status_code", None)]
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        stated += [body.get("code"), body.get("status")]
    stated.append(getattr(error, "code", None))
    for value in stated:
        if isinstance(value, str) and value.isdecimal():
            value = int(value)
        if isinstance(value, int) and 300 <= value < 600:
            return value
    return None


def _details(error: BaseException) -> dict[str, str]:
    """Return the details of an error that may be shown, by the names under which `_TEXTS` refers to
    them."""
    status = _status(error)
    key = "the key of its provider"
    if type(error).__module__.split(".")[0] in ("openai", "langchain_openai", "deep_research"):
        key = "OPENAI_API_KEY"
    because = ""
    parameter = str(getattr(error, "param", None) or "")
    if re.split(r"[.\[]", parameter)[0] in _SENT:
        because = f" because of {parameter!r}"
    return {
        "host": _host_of(error) or "its server",
        "http": f" (HTTP {status})" if status else "",
        "key": key,
        "when": _when_to_retry(error),
        "window": _stated_window(error),
        "because": because,
        "what": error.what if isinstance(error, AnswerBroken) else "an error",
        "silent": str(error) if isinstance(error, AnswerSilent) else _LATE,
    }


def _when_to_retry(error: BaseException) -> str:
    """Return the advice for an error of a server that accepts no more calls for now."""
    seconds = retry_after(error)
    if seconds is None:
        return "try again later, or raise retry_seconds"
    wait = f"{math.ceil(seconds)} s"
    if seconds > 90:
        wait = f"{math.ceil(seconds / 60)} min"
    return f"retry after {wait}, which is longer than retry_seconds lets a run wait"


def _stated_window(error: BaseException) -> str:
    """Return the window of the model that refused a prompt as too long; empty if it is not
    stated."""
    if isinstance(error, PromptCut):
        return (
            f": its server read {error.counted} of about {error.sent} tokens and answered without "
            "the rest; raise the server's own limit (Ollama: num_ctx or OLLAMA_CONTEXT_LENGTH)"
        )
    stated = _WINDOW.search(message_of(error))
    return f": {stated[1]} tokens" if stated else ""


def _host_of(error: BaseException) -> str:
    """Return host and port of the server that the failed request was sent to; empty if the error
    has no request."""
    response = getattr(error, "response", None)
    request = getattr(error, "request", None) or getattr(response, "request", None)
    return host_in(str(getattr(request, "url", "")))
