"""The commands `ask`, `resume`, `edit`, `exclude` and `demo`: turn options into a run and an exit
code.

Options are checked here, before `_research` loads LangGraph.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.dialogue.conversation import safe_text
from ..core.errors import UnknownSetting
from ..core.records.research import Strategy
from ..core.settings.context import Context
from ._endings import exit_code_of
from ._progress import Outlet
from ._settings import RunName, data_folder, expand_id, settings_from_options
from ._terminal import Output, check_output, say
from .exports.formats import chosen_format

if TYPE_CHECKING:
    # The import loads LangGraph.
    from ._research import Step

QUESTION = (
    "When was the light on the Bell Rock shown for the first time, why was Smeaton's tower given "
    "up, and which lighthouse is the tallest in Ireland?"
)
"""The question that `demo` asks."""
DOCUMENTS = Path(__file__).with_name("lighthouses")
"""The documents that `demo` searches: five short articles and a table."""


def ask_question(
    question: str,
    *,
    thread: str | None,
    strategy: Strategy | None,
    is_estimate: bool,
    data_dir: Path | None,
    outlet: Outlet,
    **options: Any,
) -> int:
    """Research a question and print the report; with `is_estimate`, stop at the plan and
    print it."""
    name = _new_name(thread, data_dir)

    def work() -> int:
        given = settings_from_options(data_dir=data_dir, **options)
        # Reports wrong settings before a database is created.
        context = Context.read(given)
        if is_estimate and context.depth == "quick":
            raise UnknownSetting(
                "--estimate needs a plan, but depth quick makes none: choose another --depth."
            )
        _check_target(name, outlet)
        from ._research import ask_step, run_to_report

        step = ask_step(name.thread, safe_text(question), given, strategy, is_estimate=is_estimate)
        return run_to_report(name, context.data_dir, outlet, step, is_estimate=is_estimate)

    return exit_code_of(work, name, outlet)


def resume_run(
    thread: str, *, answer: str, data_dir: Path | None, outlet: Outlet, **options: Any
) -> int:
    """Resume a run and print the report; `answer` is the user's answer to a waiting run, or a hint
    to a stopped one."""

    def step(name: str, given: Mapping[str, Any]) -> Step:
        from ._research import resume_step

        return resume_step(name, safe_text(answer), given)

    return _go_on(thread, step, data_dir, outlet, options)


def edit_run(
    thread: str, words: str, *, data_dir: Path | None, outlet: Outlet, **options: Any
) -> int:
    """Change the report of a finished run as `words` say, and print it."""

    def step(name: str, given: Mapping[str, Any]) -> Step:
        from ._research import edit_step

        return edit_step(name, safe_text(words), given)

    return _go_on(thread, step, data_dir, outlet, options)


def exclude_sources(
    thread: str,
    sources: Sequence[str],
    because: str,
    *,
    is_replacing: bool,
    data_dir: Path | None,
    outlet: Outlet,
    **options: Any,
) -> int:
    """Exclude sources of a finished run, and print its report without them, or with others in their
    place."""

    def step(name: str, given: Mapping[str, Any]) -> Step:
        from ._research import exclude_step

        reason = safe_text(because).strip()
        return exclude_step(name, sources, reason, given, is_replacing=is_replacing)

    return _go_on(thread, step, data_dir, outlet, options)


def _go_on(
    thread: str,
    make_step: Callable[[str, Mapping[str, Any]], Step],
    data_dir: Path | None,
    outlet: Outlet,
    options: Mapping[str, Any],
) -> int:
    """Go on with a stored run, and print the report; return the exit code.

    `make_step` makes the step from the run's name and the given settings; it loads LangGraph.
    """
    name = _new_name(expand_id(safe_text(thread), data_dir), data_dir)

    def work() -> int:
        given = settings_from_options(**options)
        Context.read(given)
        _check_target(name, outlet)
        step = make_step(name.thread, given)
        from ._research import run_to_report

        return run_to_report(name, data_folder(data_dir), outlet, step)

    return exit_code_of(work, name, outlet)


def run_demo(data_dir: Path | None, output: Output) -> int:
    """Answer `QUESTION` from our articles on lighthouses, copied to the data folder so that
    citations can be opened."""
    name = _new_name(None, data_dir)

    def work() -> int:
        folder = data_folder(data_dir)
        documents = folder / "demo" / DOCUMENTS.name
        shutil.copytree(DOCUMENTS, documents, dirs_exist_ok=True)
        say(f"Question: {QUESTION}\nDocuments: {documents}")
        given = {
            "data_dir": folder,
            "docs": (documents,),
            "models": "extractive",
            "clarify": "off",
            "engines": (),
        }
        _check_target(name, output)
        from ._research import ask_step, run_to_report

        step = ask_step(name.thread, QUESTION, given, "orchestrated")
        code = run_to_report(name, Context.read(given).data_dir, output, step)
        say(
            f"\nOpen it in the browser:  {name.command('open')}\n"
            'Ask your own documents:  deep-research ask "…" --docs FOLDER\n'
            "Use a language model:    set OPENAI_API_KEY, or OPENAI_BASE_URL for your own server"
        )
        return code

    return exit_code_of(work, name)


def _new_name(thread: str | None, data_dir: Path | None) -> RunName:
    if thread is None:
        return RunName(str(uuid.uuid4()), data_dir)
    # Invalid Unicode in an argument cannot be stored in a database.
    return RunName(safe_text(thread).strip(), data_dir)


def _check_target(name: RunName, outlet: Outlet) -> None:
    """Raise an error, before anything is spent, if the run has no name or its report cannot be
    written."""
    if not name.thread:
        raise UnknownSetting("The name of the run (--thread) is empty; is a shell variable unset?")
    if isinstance(outlet, Output):
        chosen_format(outlet.format, outlet.path).check_libraries()
        check_output(outlet.path)
