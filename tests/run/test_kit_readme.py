"""The example tests of tests/kit/README.md."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).resolve().parents[1] / "kit" / "README.md"
EXAMPLES: list[str] = re.findall(
    r"^```py\n(.*?)^```$", README.read_text("utf-8"), re.MULTILINE | re.DOTALL
)


def example_test(text: str) -> Any:
    """The only test function of an example."""
    # Annotations stay text, as in the modules of the tests.
    namespace: dict[str, Any] = {}
    exec(compile(f"from __future__ import annotations\n{text}", str(README), "exec"), namespace)
    [function] = (value for name, value in namespace.items() if name.startswith("test_"))
    return function


@pytest.mark.parametrize(
    "text", EXAMPLES, ids=lambda text: text.partition("test_")[2].partition("(")[0]
)
async def test_each_example_of_the_readme_passes(text: str, request: pytest.FixtureRequest) -> None:
    function = example_test(text)
    fixtures = {
        name: request.getfixturevalue(name) for name in inspect.signature(function).parameters
    }
    outcome = function(**fixtures)
    if inspect.isawaitable(outcome):
        await outcome
