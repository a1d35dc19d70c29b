"""Shows a draft to a model in numbered blocks, and applies the edits that the model hands in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ..core.evidence.checking.calculator import with_basis
from ..core.evidence.citations.citing import by_number, known_citations
from ..core.evidence.citations.markers import (
    cited_calculations,
    note_marks,
    replace_markers,
    with_calculations,
)
from ..core.evidence.citations.rendering import clean_for_draft, joined_footnotes, without_marks
from ..core.records.report import Draft, word_count
from ..core.records.research import Calculation
from ..core.records.sources import Source
from ..core.writing.blocks import ReportBlock, Table
from ._edits import apply_edits
from ._report_edit import ReportEdit

_NAMING_WORDS = 6
"""Number of words by which a block is named to the reader."""


def shown_block(block: ReportBlock) -> dict[str, Any]:
    """Return a block as the model is shown it."""
    shown: dict[str, Any] = {
        "block": block.number,
        "kind": block.kind,
        "words": word_count(without_marks(block.text)),
    }
    if block.kind != "table":
        return {**shown, "text": block.text}
    table = Table.read(block)
    rows = dict[int, list[str]]()
    for number, row in enumerate(table.rows, 1):
        rows[number] = row.values
    return {**shown, "columns": dict(enumerate(table.header.values, 1)), "rows": rows}


class EditedDraft(NamedTuple):
    """A draft after edits; see `Edited`."""

    draft: Draft
    refused: dict[int, str]
    replaced: str


def edited_draft(
    draft: Draft,
    edits: Sequence[ReportEdit],
    sources: Mapping[str, Source],
    calculations: Mapping[int, Calculation],
) -> EditedDraft:
    """Return the draft with the edits, whose texts are cleaned like the draft itself.

    They may cite the thread's `sources` (by key) and `calculations` (by number).
    """
    removed_markers = draft.removed_markers
    labels = {mark.label for mark in note_marks(draft.text)}
    labels_before = frozenset(labels)
    cleaned = list[ReportEdit]()
    for edit in edits:
        known = _with_known(edit, calculations)
        texts = list[str]()
        for written in (known.text, *known.cells):
            text, _, removed = clean_for_draft(written, sources, labels)
            removed_markers += removed
            labels.update(mark.label for mark in note_marks(text))
            texts.append(text)
        cleaned.append(edit.model_copy(update={"text": texts[0], "cells": texts[1:]}))
    edited = apply_edits(draft.text, cleaned)
    whole = edited.text
    if labels > labels_before:
        # The footnotes of new texts go to the end.
        whole = joined_footnotes(whole)
    numbered = by_number(sources.values())
    keys = {number: source.key for number, source in numbered.items()}
    text, cited = known_citations(whole, keys)
    changed = draft.model_copy(
        update={
            "text": text,
            "sources": tuple(cited.values()),
            "numbers": tuple(cited),
            "calculations": tuple(with_basis(cited_calculations(text), calculations)),
            "streamed": text,
            "streamed_sources": tuple(cited.values()),
            "removed_markers": removed_markers,
        }
    )
    return EditedDraft(changed, edited.refused, edited.replaced)


def left_out_sentence(edit: ReportEdit, reason: str, blocks: Sequence[ReportBlock]) -> str:
    """Return for the user which edit of these blocks was left out; `reason` is for the model."""
    if not 0 <= edit.block <= len(blocks) or reason.startswith("there is no block"):
        return "A change was left out: the report has no such passage."
    if edit.block == 0:
        return "What was to stand at the beginning could not be added."
    plain = replace_markers(blocks[edit.block - 1].text, " ")
    words = [word for word in plain.split() if any(map(str.isalnum, word))]
    return f"The change to “{' '.join(words[:_NAMING_WORDS])} …” could not be made."


def _with_known(edit: ReportEdit, known: Collection[int]) -> ReportEdit:
    """Return an edit whose texts cite only these calculations."""
    numbers = {number: number for number in known}
    text, _ = with_calculations(edit.text, numbers)
    cells = [with_calculations(cell, numbers)[0] for cell in edit.cells]
    return edit.model_copy(update={"text": text, "cells": cells})
