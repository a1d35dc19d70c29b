"""What only the user can put right stops the run; it is no result of a tool for the model to puzzle over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from searching import new_tool_context

from deep_research.core.library.library import Library
from deep_research.core.run.context import Context
from deep_research.core.run.errors import DocumentsUnreadable, UnknownSetting
from deep_research.tools.offer import check_tools
from deep_research.tools.open_url import OpenUrl
from deep_research.tools.use import Time, carry_out


@pytest.mark.parametrize(
    "settings",
    [
        {"allow_private": ("127.0.0.1:99999",)},
        {"allow_private": ("10.0.0.0/40",)},
        {"domains_allow": ("exa mple.org",)},
        {"domains_deny": ("a..b",)},
    ],
)
def test_a_malformed_setting_is_refused_before_anything_is_asked(settings: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UnknownSetting, match=next(iter(settings))):
        check_tools(Context(data_dir=tmp_path, engines=("duckduckgo",), **settings))


async def test_documents_that_are_gone_are_told_as_they_are_beside_other_addresses(tmp_path: Path) -> None:
    context = Context(data_dir=tmp_path, docs=(tmp_path / "gone",))
    tool = OpenUrl(Library(context), context, new_tool_context())
    with pytest.raises(DocumentsUnreadable, match="gone"):
        await carry_out(tool, {"urls": ["https://a.example/", "docs:gone/light.md"]}, Time(5, "tool_seconds"))
