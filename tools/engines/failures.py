"""What a bad answer, or none, of an engine means."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from .engine import EngineBusy, EngineFailed

if TYPE_CHECKING:
    import httpx

DEFAULT_WAIT = 1.0


def failed_status(title: str, status: int, retry_after: str = "") -> EngineFailed:
    """The failure that an HTTP status other than 200 stands for."""
    seconds = seconds_to_wait(retry_after)
    if status == 429:
        return EngineBusy(f"{title} asks for fewer requests (status 429).", seconds)
    if status >= 500:
        return EngineBusy(f"{title} is out of order (status {status}).", seconds, is_lasting=True)
    return EngineFailed(f"{title} refused the search (status {status}).")


def failed_request(title: str, error: httpx.HTTPError, setting: str = "") -> EngineFailed:
    """The failure that an error on the way to the engine stands for."""
    import httpx

    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return unreachable(title, setting)
    if isinstance(error, httpx.TimeoutException):
        return too_slow(title)
    return broke_off(title)


def broke_off(title: str) -> EngineBusy:
    """The connection ended before the answer did."""
    return EngineBusy(f"{title} broke off the connection.", DEFAULT_WAIT, is_lasting=True)


def unreachable(title: str, setting: str = "") -> EngineFailed:
    """Nobody takes the connection."""
    check = f"the network and {setting}" if setting else "the network"
    return EngineFailed(f"{title} cannot be reached: check {check}.", is_lasting=True)


def too_slow(title: str, seconds: float | None = None) -> EngineFailed:
    """No answer came in time."""
    within = "in time" if seconds is None else f"within {seconds:g} s"
    return EngineFailed(f"{title} did not answer {within} (search_seconds).")


def seconds_to_wait(retry_after: str) -> float:
    """Seconds that a Retry-After header asks for; 1 if it asks for none."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return DEFAULT_WAIT
    until = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max((until - datetime.now(UTC)).total_seconds(), 0.0)
