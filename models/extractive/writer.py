"""The writer: a report of quoted sentences."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from ...evidence.labels import Labels, labels_of_named
from ...evidence.words import stems
from .answers import is_broad
from .antecedents import understandable, without_title
from .chains import answer_first, best_chain
from .comparison import sides_of
from .coverage import LEAST_IN_SENTENCE, share_of_name, unsaid
from .leading import MOST_SOURCES, sure_names
from .listing import asks_for_list, items
from .old_versions import old_versions
from .pool import Pool, Sentence
from .quotations import pool_of_findings
from .reading import (
    ROW_MARKER,
    Found,
    Quotation,
    findings_in,
    language_in,
    plan_in,
    question_in,
)

LEAD_SENTENCES = 4
"""Sentences of the answer if it is chosen from several findings: as many as a question over four documents needs."""
LEAD_OF_PART = 2
"""Sentences for each of several questions."""
BROAD_SOURCES = 12
"""Documents that are quoted where more than one answer is wanted: about two for each of six steps."""
NEAREST_SENTENCES = 3
"""Sentences that are shown where there is no answer, so that the reader can judge how near they come."""
# Inner ones would end the quotation.
_NO_QUOTES = str.maketrans("", "", "“”")
LEAST_SHARE = 0.4
"""Share of the question's words that the leading documents must hold for it to count as answered.

Less than half, since a question may be worded otherwise than the documents; half of that makes a sentence near.
"""


def write_report(messages: Sequence[BaseMessage]) -> str:
    """The body of the report in Markdown: the answer, that it is an extract, the evidence, what is outdated."""
    question = " ".join(question_in(messages).split())
    words = labels_of_named(language_in(messages))
    steps, findings = plan_in(messages), findings_in(messages)
    pool = pool_of_findings(findings, question, BROAD_SOURCES if is_broad(question) else MOST_SOURCES)
    tables = list(dict.fromkeys(table for found in findings for table in found.tables))
    rows = [ROW_MARKER.sub("", row) for table in tables for row in table.splitlines()]
    absent = _absent(findings, pool) or ([] if is_broad(question) else unsaid(pool, rows))
    if absent or not (tables or _share(pool) >= LEAST_SHARE):
        return _no_answer(absent or [question], understandable(pool, _nearest(pool)), words)
    lead = without_title(pool, understandable(pool, _lead(findings, pool, question, is_in_parts=len(steps) > 1)))
    if tables and _holds_more(tables[0], lead, pool):
        lead = []
    meant = {(one.number, one.antecedent) for one in pool.sentences}
    rest = [one for one in pool.sentences if one not in lead and (one.number, one.text) not in meant]
    parts = _by_step(rest, steps) if len(steps) > 1 else _by_nearness(rest, lead, words)
    sections = [block for heading, part in parts.items() for block in _section(pool, heading, part)]
    old = old_versions(findings, lead, words)
    is_list = asks_for_list(question) and len([one for one in items(pool) if one in lead]) > 1
    return "\n\n".join([*_laid_out(lead, is_list=is_list), *tables, words.is_extract, *sections, *old])


def _holds_more(table: str, lead: Sequence[Sentence], pool: Pool) -> bool:
    """Whether a table holds more of the question than the sentences of the answer do."""
    return pool.weight(frozenset(stems(table))) > pool.weight({stem for one in lead for stem in one.held})


def _share(pool: Pool) -> float:
    return pool.weight({stem for one in pool.sentences for stem in one.held})


def _absent(findings: Sequence[Found], pool: Pool) -> list[str]:
    """Names that the findings say they lack, and that no quoted sentence holds.

    Learnings say nothing of the kind, and do not tell titles: there the names of the question are looked for.
    """
    named = dict.fromkeys(name for found in findings for name in found.absent)
    if _are_learnings(findings):
        named |= dict.fromkeys(sure_names(pool.question))
    return [name for name in named if share_of_name(name, pool.sentences) < LEAST_IN_SENTENCE]


def _are_learnings(findings: Sequence[Found]) -> bool:
    """Whether they are what was learned source by source, the best of it not first."""
    return not any(found.titles or found.tables for found in findings)


def _lead(findings: Sequence[Found], pool: Pool, question: str, *, is_in_parts: bool) -> list[Sentence]:
    """The answer to the whole question, which comes first; to several questions the beginning of each answer."""
    answers = [found.answer for found in findings if found.answer]
    are_several = len(answers) > 1
    if (are_several or _are_learnings(findings)) and not (sides_of(question) or asks_for_list(question)):
        if not (are_several and is_in_parts):
            return list(answer_first(best_chain(pool, LEAD_SENTENCES), pool))
        # A plan with one part only has left the other questions to the whole.
        parts = answers[1:] if len(answers) > 2 else answers
        answers = [tuple(quoted for answer in parts for quoted in _beginning(answer))]
    said = [(quoted.text, quoted.antecedent) for answer in answers[:1] for quoted in answer]
    by_words = {(one.text, one.antecedent): one for one in reversed(pool.sentences)}
    return [by_words[words] for words in dict.fromkeys(said) if words in by_words]


def _beginning(answer: Sequence[Quotation]) -> list[Quotation]:
    """The first sentences of an answer; those that only say what a pronoun means come along with it."""
    meant = {quoted.antecedent for quoted in answer}
    return [quoted for quoted in answer if quoted.text not in meant][:LEAD_OF_PART]


def _laid_out(lead: Sequence[Sentence], *, is_list: bool) -> list[str]:
    """The items of a list one by one, anything else as a paragraph; nothing without sentences."""
    cited = list(map(_cited, lead))
    if is_list:
        return ["\n".join(f"- {one}" for one in cited)] if cited else []
    return [" ".join(cited)] if cited else []


def _by_worth(pool: Pool) -> list[Sentence]:
    return sorted(pool.sentences, key=lambda sentence: -pool.weight(sentence.held))


def _nearest(pool: Pool) -> list[Sentence]:
    return [sentence for sentence in _by_worth(pool) if pool.weight(sentence.stems) >= LEAST_SHARE / 2][
        :NEAREST_SENTENCES
    ]


def _no_answer(sought: Sequence[str], nearest: Sequence[Sentence], words: Labels) -> str:
    names = ", ".join(f"“{name.translate(_NO_QUOTES)}”" for name in sought)
    parts = [f"{words.unanswered} {words.nothing_on.format(names=names)}"]
    if nearest:
        parts += [f"## {words.nearest}", *map(_cited, nearest), words.is_extract]
    return "\n\n".join(parts)


def _by_step(sentences: Sequence[Sentence], steps: Sequence[str]) -> dict[str, list[Sentence]]:
    """For each step of the plan the sentences that hold most of its words."""
    topics = [frozenset(stems(step)) for step in steps]
    sections: dict[str, list[Sentence]] = {step: [] for step in steps}
    for sentence in sentences:
        shares = [len(sentence.meaning & topic) / max(1, len(topic)) for topic in topics]
        sections[steps[shares.index(max(shares))]].append(sentence)
    return sections


def _by_nearness(sentences: Sequence[Sentence], lead: Sequence[Sentence], words: Labels) -> dict[str, list[Sentence]]:
    """What else the documents of the answer say, then what others say."""
    numbers = {sentence.number for sentence in lead}
    near = [sentence for sentence in sentences if sentence.number in numbers]
    far = [sentence for sentence in sentences if sentence.number not in numbers]
    return {words.evidence: near, words.related: far}


def _section(pool: Pool, heading: str, sentences: Sequence[Sentence]) -> list[str]:
    """A heading and a paragraph a document; nothing without sentences."""
    numbers = dict.fromkeys(sentence.number for sentence in sentences)
    of_documents = [[one for one in sentences if one.number == number] for number in numbers]
    paragraphs = [" ".join(map(_cited, understandable(pool, own))) for own in of_documents]
    return [f"## {heading}", *paragraphs] if paragraphs else []


def _cited(sentence: Sentence) -> str:
    return f"{sentence.text} [{sentence.number}]"
