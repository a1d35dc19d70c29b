"""The tree of errors in the docstring of `errors` is complete."""

from __future__ import annotations

import re

from deep_research.core.run import errors

WIDTH = 4
"""Characters by which each level of the tree is indented."""


def test_the_tree_draws_each_error_below_its_parent() -> None:
    path, drawn = ["DeepResearchError"], dict[str, str]()
    for indent, name in re.findall(r"^([│ ]*)[├└]── (\w+)", errors.__doc__ or "", re.MULTILINE):
        path[len(indent) // WIDTH + 1 :] = [name]
        drawn[name] = path[-2]
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    own = [kind for kind in kinds if issubclass(kind, errors.DeepResearchError) and kind.__module__ == errors.__name__]
    assert drawn == {kind.__name__: kind.__bases__[0].__name__ for kind in own if kind is not errors.DeepResearchError}
