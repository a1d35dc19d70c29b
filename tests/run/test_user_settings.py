"""What a user of the server chooses, and what stays as its operator has set it."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from deep_research.core.run import user_settings
from deep_research.core.run.context import ROLES
from deep_research.core.run.user_settings import UserSettings

ONE = "openai:one"
OTHER = "openai:other"


@pytest.mark.parametrize(
    ("operator", "models"),
    [(ONE, {**dict.fromkeys(ROLES, ONE), "writer": OTHER}), ({"planner": ONE}, {"planner": ONE, "writer": OTHER})],
)
def test_a_role_for_which_a_user_chooses_no_model_has_that_of_the_operator(
    monkeypatch: pytest.MonkeyPatch, operator: str | Mapping[str, str], models: Mapping[str, str]
) -> None:
    monkeypatch.setenv("DEEP_RESEARCH_MODELS", operator if isinstance(operator, str) else json.dumps(operator))
    monkeypatch.setenv("DEEP_RESEARCH_ALLOW_MODELS", OTHER)
    user_settings._operator.cache_clear()
    try:
        assert UserSettings(models={"writer": OTHER}).context_of("").models == models
    finally:
        user_settings._operator.cache_clear()
