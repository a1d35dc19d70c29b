"""What a user may choose before a question, what it will use, and example questions from the user's documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple, get_args

from ...core.library.folder import FoundFile, read_file, scan_folder
from ...core.library.index import Root, open_roots
from ...core.models.resolve import is_extractive
from ...core.reading.records import Unreadable
from ...core.records.research import Depth, Strategy
from ...core.run.context import ROLES, Context, engine_name
from ...core.run.errors import DeepResearchError, UserMistake
from ...core.run.store.pages import Pages
from ...core.run.tracing import traced_to
from ...core.writing.estimate import usual_cost
from ...tools.run_engines import choose_engines, stand_ins
from ..words import GRAPHS, ExportFormat

FOLDERS = 200
"""Folders below one of the operator's that are offered by name."""
EXAMPLE_FILES, EXAMPLE_BYTES = 200, 200_000
"""Files that are looked at for example questions, and the size of the largest that is read for its headings."""
DEPTHS: tuple[Depth, ...] = ("quick", "standard", "deep")
STRATEGY: Strategy = "orchestrated"
_HEADING = re.compile(r"^#{1,3} +(.{4,60}?)[ #]*$", re.MULTILINE)
_TEXT = (".md", ".markdown")


class Titled(NamedTuple):
    """A document as an example question names it."""

    title: str
    headings: Sequence[str]


def offer_to(user: str, context: Context) -> dict[str, Any]:
    """Return what a user may choose, by the operator's settings for this user; blocks."""
    files, fault, titled = 0, "", list[Titled]()
    try:
        for root in open_roots(context):
            found = scan_folder(root.path, context.limits.max_document_bytes, context.limits.max_documents).files
            files += len(found)
            titled += _titled(root, found)
        engines = [engine.title for engine in (*choose_engines(context), *stand_ins(context))]
        has_model = not all(is_extractive(role, context) for role in ROLES)
    except (OSError, DeepResearchError) as error:
        engines, has_model, fault = [], True, str(error)
    return {
        "user": user,
        "graphs": GRAPHS,
        "docs": [_folder(path) for path in context.docs],
        "engines": [engine_name(one) for one in context.engines or ()],
        "models": list(context.allow_models),
        "depths": get_args(Depth),
        "depth": context.depth,
        "tracing": traced_to() if context.tracing else "",
        "formats": list(get_args(ExportFormat)),
        "uses": {"files": files, "engines": engines, "has_model": has_model, "fault": fault},
        "examples": _examples(titled),
    }


async def usual_costs(pages: Pages, context: Context) -> dict[str, dict[str, float]]:
    """Return what the user's finished runs took, by depth; nothing while the settings name no usable model."""
    try:
        return {depth: await usual_cost(pages, STRATEGY, depth, context) for depth in DEPTHS}
    except UserMistake:
        return {}


def _titled(root: Root, files: Sequence[FoundFile]) -> Iterable[Titled]:
    first = sorted(files[:EXAMPLE_FILES], key=lambda file: not file.path.lower().endswith(_TEXT))
    for file in first[: len(DEPTHS)]:
        headings = list[str]()
        if file.path.lower().endswith(_TEXT) and file.size <= EXAMPLE_BYTES:
            with suppress(Unreadable):
                text = read_file(root.path, file, EXAMPLE_BYTES).decode("utf-8", "replace")
                headings = [found.strip("*_` ") for found in _HEADING.findall(text)]
        name = re.sub(r"[_-]+", " ", Path(file.path or root.name).stem).strip()
        yield Titled(headings[0] if headings else name, headings[1:])


def _examples(documents: Sequence[Titled]) -> list[str]:
    """Return three questions about the documents, or fewer; none without documents."""
    headed = [(found.title, heading) for found in documents for heading in found.headings[:2]]
    about = [f"What do the documents say about {heading}?" for _, heading in headed[1:2]]
    about += [f"What does “{title}” say about {heading}?" for title, heading in headed[:1]]
    pairs = [f"Compare “{one.title}” with “{other.title}”" for one, other in pairwise(documents)]
    plain = [f"What are the main points of “{found.title}”?" for found in documents]
    return list(islice(dict.fromkeys((*about, *pairs[:1], *plain)), len(DEPTHS)))


def _folder(path: Path) -> dict[str, Any]:
    below = sorted(one.name for one in path.iterdir() if one.is_dir()) if path.is_dir() else []
    return {"name": path.name, "folders": [name for name in below if not name.startswith(".")][:FOLDERS]}
