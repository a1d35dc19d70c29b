"""Prepares the check of statements for the nodes that have a draft checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..core.dialogue.conversation import Conversation
from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.citations.rendering import title_line
from ..core.records import tool_names
from ..core.records.report import CitingText, Draft
from ..core.records.research import Calculation
from ..core.records.sources import Source, unopened
from ..core.records.table import CellQuotations, Quotation
from ..core.settings.context import Context
from ..core.writing.examination import Examination
from ..core.writing.forms import Filler
from ..core.writing.versions import ThreadVersions
from ..state import merge_sources
from ._further_research import may_research
from .turn import Turn


def has_no_calls_left(turn: Turn) -> bool:
    """Whether the run is a quick answer, which has used its two model calls."""
    return turn.state.run.is_quick and not turn.state.run.is_recalled


def context_of_check(turn: Turn) -> Context:
    """Return the settings of a check, which asks no model if no calls are left."""
    reason = turn.state.run.stop_reason
    if not has_no_calls_left(turn) and "max_tokens" not in reason and "max_usd" not in reason:
        return turn.context
    limits = turn.context.limits.model_copy(update={"max_opinions": 0, "max_rewrites": 0})
    return turn.context.model_copy(update={"limits": limits})


async def examination_of(
    turn: Turn,
    draft: Draft,
    text: str,
    filler: Filler,
    pages: UnreadPages | None = None,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Examination:
    """Return the check of a draft with this text, and with the title above it.

    It takes the verdicts of the thread's last report, and those that were made ahead of the check.
    Without `pages` it opens none. `on_progress`: see `Examination`.
    """
    # The title is printed above the text, so it is checked with it.
    titled = [title_line(turn.state.title), text]
    state = turn.state
    return Examination(
        draft.model_copy(update={"text": "\n\n".join(filter(None, titled))}),
        await turn.basis.texts(turn.pages, _citable(draft, turn)),
        state.sources,
        filler,
        state.run.language_code,
        state.calculations.values(),
        asked=_texts_of_user(turn),
        kept=await _kept_before(turn, draft),
        changed_calculations=_changed_calculations(turn),
        open_pages=pages.read if pages else None,
        judge_calls=draft.judge_calls,
        may_ask=lambda: not turn.budget.used_up(),
        quotations=await _quotations(turn, draft),
        on_progress=on_progress,
    )


def examination_of_sections(
    turn: Turn,
    sections: CitingText,
    texts: Mapping[str, Sequence[SourceText]],
    filler: Filler,
    calculations: Iterable[Calculation],
) -> Examination:
    """Return the check of the last sections of a text, the beginning of a report; `texts` are those
    of the thread's sources, by key, `calculations` those that the report may cite."""
    state = turn.state
    return Examination(
        sections,
        texts,
        state.sources,
        filler,
        state.run.language_code,
        calculations,
        asked=_texts_of_user(turn),
    )


class UnreadPages:
    """The pages of the thread of which only search excerpts were read; opens those that a check
    needs."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self.sources = dict[str, Source]()
        """What is known of the pages that were opened, or could not be, by source key."""

    async def read(
        self, keys: Sequence[str]
    ) -> tuple[dict[str, list[SourceText]], Mapping[str, Source]]:
        """Open the pages of these sources, as a researcher would, and put them into the turn's
        state; return the texts and sources of those that could be read, by key.

        None is opened without web search, or once a limit of the run is reached.
        """
        turn = self._turn
        texts = dict[str, list[SourceText]]()
        most = turn.context.limits.max_open
        for tab, start in enumerate(range(0, len(keys), most), 1):
            if tool_names.WEB_SEARCH not in turn.offered or not may_research(turn):
                break
            addresses = [turn.state.sources[key].address for key in keys[start : start + most]]
            name = tool_names.OPEN_URL
            outcome, action = await turn.use(name, addresses, f"check-{tab}", tab)
            for hit in outcome.hits:
                if hit.source.key in keys:
                    texts[hit.source.key] = [SourceText(hit.source.content_hash, hit.text)]
            sources = turn.state.sources
            found = {**outcome.sources, **unopened(sources, outcome.not_read)}
            merged = merge_sources(sources, found)
            self.sources |= {key: merged[key] for key in found}
            brief = turn.state.brief
            brief = brief.model_copy(update={"actions": (*brief.actions, action)})
            turn.apply(sources=merged, brief=brief)
        return texts, {key: self.sources[key] for key in texts}


async def _quotations(turn: Turn, draft: Draft) -> Mapping[str, Sequence[Quotation]]:
    """Return the words from which the cells of a draft's table were taken."""
    if not draft.quotations:
        return {}
    text = await turn.pages.text(draft.quotations)
    return CellQuotations.model_validate_json(text).by_unit if text else {}


async def _kept_before(turn: Turn, draft: Draft) -> list[str]:
    """Return the stored verdicts of the thread's last report, then those of the draft."""
    base = turn.state.base
    references = [base.kept if base else "", *draft.kept]
    texts = await turn.pages.texts([*filter(None, references)])
    return [*filter(None, texts)]


def _citable(draft: Draft, turn: Turn) -> list[str]:
    """Return the keys of the sources that the draft cites, then of the others it could cite."""
    return [*draft.sources, *turn.state.numbers]


def _texts_of_user(turn: Turn) -> list[str]:
    """Return what the user has written: messages, without wishes that were undone, and the outline
    of the report."""
    texts = Conversation(ThreadVersions(turn.state).standing_messages).texts_of_user
    outline = turn.basis.outline(turn.context)
    if outline:
        texts = [*texts, outline.text]
    return texts


def _changed_calculations(turn: Turn) -> set[int]:
    """Return the numbers of the calculations that have changed since the thread's last report."""
    state = turn.state
    changed = set[int]()
    for before in state.base.calculations if state.base else ():
        now = state.calculations.get(before.key)
        if now is None or (now.line, now.inputs) != (before.line, before.inputs):
            changed.add(before.number)
    return changed
