"""Asks a model for the same thing once, also where the run was stopped in between."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from ..models.resolve import profile_of
from ..run.context import Context, Role
from ..run.knowing import known
from ..run.pages import Pages, text_hash
from ..tools.check_forms import NAMES
from ..tools.fill_in import Filler
from ..tools.forms import Form

Filled = TypeVar("Filled", bound=Form)


class Checker:
    """Asks the models that check a report; what they have handed in is kept beside the texts of the thread."""

    def __init__(self, filler: Filler, pages: Pages, context: Context) -> None:
        self._filler, self._pages, self._context = filler, pages, context
        self.asked = 0
        """How many forms were asked for."""

    async def ask(self, form: type[Filled], role: Role, asked: str, **shown: Any) -> Filled | None:
        """The form as the role's model fills it in, shown this, or has done so before; none if it cannot be had.

        `asked` names the part of the prompt. Raises what stops the whole run.
        """
        self.asked += 1
        name = self._name(NAMES[form], role, shown)
        if noted := await self._pages.noted(name):
            return form.model_validate(noted)
        filled = await self._filler.ask_if_possible(
            form, role, "verify_report", (), asked=asked, knowledge=known(**shown)
        )
        if filled:
            await self._pages.note({name: filled.model_dump(mode="json")})
        return filled

    def _name(self, form: str, role: Role, shown: Any) -> str:
        asked_for = json.dumps([profile_of(role, self._context).name, shown], ensure_ascii=False)
        return f"{form} {text_hash(asked_for)}"
