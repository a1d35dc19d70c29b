"""Counts the work of a function, which unlike its time is the same on every machine."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any


def steps_of(work: Callable[[], object]) -> int:
    """Run the work; return how many lines of Python it executes in this thread.

    Work within a call of C code, such as the search of a pattern, counts as one line.
    """
    steps = 0

    def count(_: FrameType, __: str, ___: Any) -> Any:
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps


def is_linear(steps: Sequence[int], slack: int) -> bool:
    """Whether steps at sizes n, 2n and 4n grow in proportion to n log n at most.

    From 2n to 4n, linear growth adds twice as many steps as from n to 2n, and quadratic growth four
    times as many. If the shortest text takes most steps, as one that is read in another way, those
    of the others are compared. `slack`: a number of steps that does not count.
    """
    first, second, third = steps
    if first > second:
        return third <= 2 * second + slack
    return third - second <= 2.7 * (second - first) + slack


@contextmanager
def processor_limit(seconds: float) -> Iterator[None]:
    """Fail work that takes more seconds of CPU, in Python or in C; how busy the machine is does not
    matter."""

    def fail(*_: object) -> None:
        raise AssertionError(f"it takes more than {seconds:g} seconds of CPU")

    before = signal.signal(signal.SIGPROF, fail)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
