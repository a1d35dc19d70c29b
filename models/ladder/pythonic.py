"""Calls that are written as in a program: `search(queries=["…"])`."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

from .lenient import MOST_CHARACTERS, extent_at
from .offer import Offer, Tool, settled
from .shapes import Stretch, Wanted

_ALONE = re.compile(r"[ \t`\];)]*(?:\n|$)")
_CONSTANTS = {"true": True, "false": False, "null": None}


def python_calls(text: str, offer: Offer) -> Iterator[Stretch]:
    """Calls, or lists of calls, that fill whole lines of a text; within a sentence they are only mentioned."""
    names = "|".join(map(re.escape, offer.tools))
    opening = re.compile(
        rf"^[ \t`]*+(?:Action:[ \t]*+)?(?P<expression>(?:\[\s*+)?(?:print\(\s*+)?(?:\w+\.)*(?:{names})\()",
        re.MULTILINE | re.IGNORECASE,
    )
    place = 0
    while found := opening.search(text, place):
        place = found.end()
        start = found.start("expression")
        end = extent_at(text, text.index("[" if text[start] == "[" else "(", start)).end
        wanted = expression_calls(text[start:end], offer) if _ALONE.match(text, end) else []
        if wanted:
            place = end
            yield Stretch(found.start(), end, wanted)


def expression_calls(expression: str, offer: Offer) -> list[Wanted]:
    """The calls that an expression of Python consists of; none if anything else is in it."""
    tree = _parsed(expression.strip()) or _parsed(expression.strip().replace("\n", "\\n"))
    if tree is None:
        return []
    wanted = [_call(node, offer) for node in (tree.elts if isinstance(tree, ast.List) else [tree])]
    return [call for call in wanted if call] if all(wanted) else []


def _parsed(expression: str) -> ast.expr | None:
    if len(expression) > MOST_CHARACTERS:
        return None
    with warnings.catch_warnings():
        # The words of a model may hold what looks like a wrong escape sequence.
        warnings.simplefilter("ignore")
        try:
            return ast.parse(expression, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _call(node: ast.expr, offer: Offer) -> Wanted | None:
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name) and node.func.id == "print" and len(node.args) == 1:
        return _call(node.args[0], offer)
    tool = offer.named(ast.unparse(node.func).rpartition(".")[2])
    arguments = _arguments(node, tool) if tool else None
    if tool is None or arguments is None:
        return None
    return Wanted(tool.name, settled(arguments, tool), json.dumps(arguments, ensure_ascii=False))


def _arguments(node: ast.Call, tool: Tool) -> dict[str, Any] | None:
    """The arguments by name; none if they are no constants, or more than the tool takes."""
    try:
        given = [_constant(value) for value in node.args]
        named = {keyword.arg: _constant(keyword.value) for keyword in node.keywords if keyword.arg}
    except (ValueError, TypeError, RecursionError):
        return None
    if len(given) == 1 and not named and isinstance(given[0], dict):
        return given[0]
    if len(given) > len(tool.parameters) or len(named) < len(node.keywords):
        return None
    return dict(zip(tool.parameters, given, strict=False)) | named


def _constant(node: ast.expr) -> Any:
    return ast.literal_eval(_JsonConstants().visit(node))


class _JsonConstants(ast.NodeTransformer):
    """Takes `true`, `false` and `null` for the values that they have in JSON."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_CONSTANTS[node.id]) if node.id in _CONSTANTS else node
