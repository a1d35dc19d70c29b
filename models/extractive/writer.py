"""The writer: a report of quoted sentences."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from deep_research.evidence.labels import labels_of_named
from deep_research.evidence.labels.words import Labels
from deep_research.evidence.mixing import in_turn
from deep_research.evidence.words import stems
from deep_research.models.extractive.answers import is_broad
from deep_research.models.extractive.chains import best_chain
from deep_research.models.extractive.coverage import LEAST_OF_NAME, share, share_of_name
from deep_research.models.extractive.leading import MOST_SOURCES
from deep_research.models.extractive.old_versions import old_versions
from deep_research.models.extractive.pool import Pool, Sentence
from deep_research.models.extractive.quotations import pool_of_quotations
from deep_research.models.extractive.reading import Found, Quotation, findings_in, language_in, plan_in, question_in

LEAD_SENTENCES = 4
BROAD_SOURCES = 12
NEAREST_SENTENCES = 3
LEAST_SHARE = 0.4
"""Share of the question's words that the leading documents must hold for it to count as answered."""


def write_report(messages: Sequence[BaseMessage]) -> str:
    """The body of the report in Markdown: the answer, that it is an extract, the evidence, what is outdated."""
    question = " ".join(question_in(messages).split())
    words = labels_of_named(language_in(messages))
    findings = findings_in(messages)
    quoted = _quoted(findings, BROAD_SOURCES if is_broad(question) else MOST_SOURCES)
    pool = pool_of_quotations(quoted, question)
    absent = _absent(findings, pool)
    if absent or share(pool, pool.sentences) < LEAST_SHARE:
        return _no_answer(absent or [question], _nearest(pool), words)
    lead = _lead(findings, pool)
    steps = plan_in(messages)
    rest = [sentence for sentence in pool.sentences if sentence not in lead]
    sections = _by_step(rest, steps) if len(steps) > 1 else _by_nearness(rest, lead, words)
    return "\n\n".join([" ".join(map(_cited, lead)), words.is_extract, *sections, *old_versions(findings, lead, words)])


def _absent(findings: Sequence[Found], pool: Pool) -> list[str]:
    """Names that the findings say they lack, and that no quoted sentence holds."""
    named = dict.fromkeys(name for found in findings for name in found.absent)
    return [name for name in named if share_of_name(name, pool.sentences) < LEAST_OF_NAME]


def _lead(findings: Sequence[Found], pool: Pool) -> list[Sentence]:
    """The answer of the only finding; of several, what fits together best."""
    answers = [found.answer for found in findings if found.answer]
    if len(answers) > 1:
        return list(best_chain(pool, LEAD_SENTENCES).sentences)
    answer = [quoted.text for quoted in answers[0]]
    return sorted((one for one in pool.sentences if one.text in answer), key=lambda one: answer.index(one.text))


def _quoted(findings: Sequence[Found], limit: int) -> list[Quotation]:
    """What is quoted from so many documents: the first one of each finding, then the second of each, and so on."""
    quotations = [[*found.answer, *found.evidence] for found in findings]
    orders = [dict.fromkeys(quoted.numbers[0] for quoted in found) for found in quotations]
    numbers = list(dict.fromkeys(in_turn(orders)))[:limit]
    return [quoted for found in quotations for quoted in found if quoted.numbers[0] in numbers]


def _by_worth(pool: Pool) -> list[Sentence]:
    return sorted(pool.sentences, key=lambda sentence: -pool.weight(sentence.stems | sentence.context))


def _nearest(pool: Pool) -> list[Sentence]:
    return [sentence for sentence in _by_worth(pool) if pool.weight(sentence.stems) >= LEAST_SHARE / 2][
        :NEAREST_SENTENCES
    ]


def _no_answer(sought: Sequence[str], nearest: Sequence[Sentence], words: Labels) -> str:
    names = ", ".join(f"“{name}”" for name in sought)
    parts = [f"{words.unanswered} {words.nothing_on.format(names=names)}"]
    if nearest:
        parts += [f"## {words.nearest}", *map(_cited, nearest), words.is_extract]
    return "\n\n".join(parts)


def _by_step(sentences: Sequence[Sentence], steps: Sequence[str]) -> list[str]:
    """A section for each step of the plan, with the sentences that hold most of its words."""
    topics = [frozenset(stems(step)) for step in steps]
    sections: list[list[Sentence]] = [[] for _ in steps]
    for sentence in sentences:
        shares = [len(sentence.stems & topic) / max(1, len(topic)) for topic in topics]
        sections[shares.index(max(shares))].append(sentence)
    return [part for step, section in zip(steps, sections, strict=True) for part in _section(step, section)]


def _by_nearness(sentences: Sequence[Sentence], lead: Sequence[Sentence], words: Labels) -> list[str]:
    """What else the documents of the answer say, then what others say."""
    numbers = {sentence.number for sentence in lead}
    near = [sentence for sentence in sentences if sentence.number in numbers]
    far = [sentence for sentence in sentences if sentence.number not in numbers]
    return [*_section(words.evidence, near), *_section(words.related, far)]


def _section(heading: str, sentences: Sequence[Sentence]) -> list[str]:
    """A heading and a paragraph a document; nothing without sentences."""
    numbers = dict.fromkeys(sentence.number for sentence in sentences)
    paragraphs = [" ".join(_cited(one) for one in sentences if one.number == number) for number in numbers]
    return [f"## {heading}", *paragraphs] if paragraphs else []


def _cited(sentence: Sentence) -> str:
    return f"{sentence.text} [{sentence.number}]"
