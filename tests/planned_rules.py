"""Rules for planned runs: what is learned, judged and suggested, and how a model fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage
from planned_lab import Asked, Rule, verdict
from scripted import call, calls

WORDS = [f"word{number}x" for number in range(20)]
"""Words that no document holds."""
COVERED = " ".join(WORDS)
"""A task of which a fact can hold any share."""
INCOMPLETE = verdict(False)


def form(name: str, **arguments: Any) -> AIMessage:
    """A form as a message, for rules that wait."""
    return calls(call(name, **arguments))


def fact(text: str, document: int = 1) -> dict[str, Any]:
    """One learned fact."""
    return {"text": text, "document": document}


def facts(*texts: str) -> Rule:
    """The same facts each time, said by the first result."""
    return lambda asked: {"learnings": [fact(text, asked.results[0]["document"]) for text in texts]}


def contrary(claim: str, other: str) -> Rule:
    """Two facts of the first two results, which cannot both be true."""
    pair = {"claim": fact(claim, 1), "other": fact(other, 2)}
    return lambda _: {"learnings": [*pair.values()], "contradictions": [pair]}


def holding(words: int) -> Rule:
    """One fact that holds so many of `WORDS`."""
    return facts(" ".join(WORDS[:words]))


def new_each_time(asked: Asked) -> Any:
    """A fact that nobody knows yet."""
    return facts(f"{asked.task} has the number {asked.number}.")(asked)


def queries(*texts: str) -> Rule:
    """The same queries each time."""
    return lambda _: {"queries": list(texts)}


def insights(*texts: str, gaps: dict[str, float] | None = None) -> Rule:
    """The same insights and gaps each time; the gaps with their relevance."""
    found = [{"question": question, "relevance": relevance} for question, relevance in (gaps or {}).items()]
    return lambda _: {"insights": list(texts), "gaps": found}


def suggestion(title: str = "", rationale: str = "", *, search: bool = True) -> dict[str, Any]:
    """A further step as a model suggests it."""
    return {"title": title, "rationale": rationale, "requires_search": search}


def judged(completeness: float, quality: float, *next_steps: dict[str, Any]) -> Rule:
    """The same judgement of every step."""
    return lambda _: {"completeness": completeness, "quality": quality, "next_steps": list(next_steps)}


def of_task(task: str, rule: Rule, otherwise: Rule) -> Rule:
    """A rule for the questions on one task, and one for all others."""
    return lambda asked: (rule if asked.task == task else otherwise)(asked)


def in_turn(*rules: Rule) -> Rule:
    """A rule for each time that a task is asked about, the last one ever after."""
    return lambda asked: rules[min(asked.number, len(rules)) - 1](asked)


def failing(error: Exception) -> Rule:
    """The model fails."""
    return lambda _: error


class First:
    """Answers the first questions by another rule, whatever they are about."""

    def __init__(self, times: int, rule: Rule, otherwise: Rule) -> None:
        self.left, self._rule, self._otherwise = times, rule, otherwise

    def __call__(self, asked: Asked) -> Any:
        self.left -= 1
        return (self._rule if self.left >= 0 else self._otherwise)(asked)


def shown(asked: Asked, kind: str) -> list[str]:
    """The elements of this kind that it is shown, in order."""
    return [element["content"] for element in asked.knowledge.get("elements", []) if element["kind"] == kind]


def after(action: Callable[[], object], rule: Rule) -> Rule:
    """The rule, once something has happened."""

    def act(asked: Asked) -> Any:
        action()
        return rule(asked)

    return act
