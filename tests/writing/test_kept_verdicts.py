"""A later check of a thread asks the judge only about what has changed, or rests on what has
changed; every verdict is the same as without kept ones."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.models import ScriptedChatModel, call, calls, units_shown
from kit.reports import source_at
from langchain_core.language_models import ModelProfile

from deep_research.app._source_check import run_for_check
from deep_research.core.events.call import SilentEvents
from deep_research.core.events.log import Emitter
from deep_research.core.events.packets import Placement
from deep_research.core.evidence.checking.source_text import SourceText
from deep_research.core.evidence.checking.units import report_units
from deep_research.core.records.report import CitingText
from deep_research.core.records.research import Calculation, CalculationInput
from deep_research.core.records.sources import text_hash
from deep_research.core.settings.context import Context
from deep_research.core.settings.limits import Limits
from deep_research.core.writing._trial import QUOTATIONS_TRIAL, REASONING_TRIAL
from deep_research.core.writing.examination import Examination, Examined
from deep_research.core.writing.forms import Filler

PROFILE = ModelProfile(max_input_tokens=100_000)
MILL, BRIDGE, VANS = "https://mill.test", "https://bridge.test", "https://vans.test"
KEYS = {1: MILL, 2: BRIDGE, 3: VANS}
GROUND, WHEEL = "The mill ground 340 tonnes of rye.", "Its wheel is 6 metres wide."
LONG, CLOSED = "The bridge is 84 metres long.", "Lorries may no longer use it."
TEXTS = {
    MILL: f"# The mill\n\n{GROUND} {WHEEL}\n",
    BRIDGE: f"# The bridge\n\n{LONG} {CLOSED}\n",
    VANS: "# The vans\n\n| Year | Trips |\n|---|---|\n| 2023 | 957 |\n| 2024 | 1,090 |\n",
}
OTHER_TEXTS = {
    MILL: f"# The mill\n\n{GROUND} {WHEEL} It was sold.\n",
    BRIDGE: f"# The bridge\n\n{LONG.replace('84', '85')} {CLOSED}\n",
    VANS: TEXTS[VANS].replace("957", "958"),
}
"""The same sources, read later."""
MESSAGES = ["We have 14 bridges.", "Is there more?"]
Said = Mapping[str, Any]
"""What the judge hands in on a unit, without its number."""


def said(verdict: str, words: str = "", *calculations: str, **fields: Any) -> Said:
    return {"verdict": verdict, "words": words, "calculations": [*calculations], **fields}


class Statement(NamedTuple):
    """A sentence of a report, with the judge's verdict on it."""

    text: str
    said: Said
    premises: tuple[str, ...] = ()
    """Parts of the report that it rests on; all have to be there, or are stated by the sources."""


GROWTH = "The trips grew by 14 %, from 957 to 1,090."
DOUBLE = "Twice that growth would be 28 %."
STATEMENTS = [
    Statement("All in all, it ground 340 tonnes. [1]", said("supported", GROUND)),
    Statement("As is known, 6 metres is its width. [1]", said("supported", WHEEL)),
    Statement("The bridge has a length of 84 metres. [2]", said("supported", LONG)),
    Statement("It is 48 metres long. [2]", said("contradicted", LONG, right="84 metres")),
    Statement("It was built by Ilse Brandt. [2]", said("not_found")),
    Statement("The long bridge of 84 metres is here. [1]", said("supported", LONG)),
    Statement("Lorries have to stay away. [2][1]", said("supported", CLOSED)),
    Statement("For your 14 bridges it takes 28 days.", said("reasoning", "", "14 * 2 = 28")),
    Statement("So the mill should be kept.", said("advice")),
    Statement("Hence both are worth a visit.", said("reasoning")),
    Statement("No source names the owner.", said("reasoning", is_absence=True)),
    Statement(
        GROWTH,
        said("supported", "", "(1,090 - 957) / 957 = 14 %"),
        ("2023, Trips: 957", "2024, Trips: 1,090"),
    ),
    Statement(DOUBLE, said("supported", "", "2 * 14 % = 28 %"), (GROWTH,)),
    Statement("It says the bridge is 84 metres long.", said("supported", LONG)),
    Statement("Vans left it on 28 March 2026. [2]", said("not_found")),
]
FOREIGN = 5
"""Index of the statement that cites one source and has the words of another."""
VERDICTS = {
    **{statement.text.partition(" [")[0]: statement.said for statement in STATEMENTS},
    "The mill is old.": said("supported", "The mill"),
    "It has a wheel.": said("supported", WHEEL),
    "So 77 sacks are left.": said("not_found"),
    "Nothing of it is certain.": said("not_found"),
    "The wheels of two mills are 12 metres wide.": said("supported", WHEEL),
}
HEAD = "| Year | Trips |\n| --- | --- |\n"
CELLS = ("957", "958", "1,090", "77")


def answer(messages: list[Any], _: Any) -> Any:
    """The verdicts on the units of a request, each a function of the unit alone."""
    units, _passages = units_shown(messages[-1].text)
    return calls(
        call(
            "judge_units",
            verdicts=[{"unit": unit["unit"], **verdict_on(unit["says"])} for unit in units],
        )
    )


def tried(messages: list[Any], settings: Any) -> Any:
    """The same, of a judge that passes its trial."""
    units, passages = units_shown(messages[-1].text)
    trial = [*QUOTATIONS_TRIAL, *REASONING_TRIAL]
    if units[0]["says"] != trial[0].says:
        return answer(messages, settings)
    verdicts = list[Said]()
    for number, statement in enumerate(trial, 1):
        calculations = [statement.calculation] if statement.calculation else []
        words = "\n".join(passages.values())
        verdict = said(statement.verdicts[0], words, *calculations)
        verdicts.append({"unit": number, **verdict})
    return calls(call("judge_units", verdicts=verdicts))


def verdict_on(says: str) -> Said:
    if says in VERDICTS:
        return VERDICTS[says]
    if "Metres: " in says:
        return said("supported", WHEEL)
    if "Trips:" in says:
        year, value = says.split(", Trips: ")
        return said("supported", f"| {year} | {value} |")
    return said("reasoning")


class Checked(NamedTuple):
    """A checked report, and what the judge was asked about."""

    examined: Examined
    kept: str
    asked: list[list[str]]
    """The units of each request, by their words."""
    rewrites: int
    """How often the writer was asked to correct sentences."""

    @property
    def units_asked(self) -> set[str]:
        """The units of all requests."""
        return {unit for units in self.asked for unit in units}


class Thread(NamedTuple):
    """A report and all that it is checked against."""

    text: str
    texts: Mapping[str, str] = TEXTS
    messages: Sequence[str] = MESSAGES
    titles: Mapping[str, str] = dict.fromkeys(TEXTS, "A page")
    calculations: Sequence[Calculation] = ()

    def check(
        self, kept: str = "", model: str = "scripted", judge: Any = answer, **settings: Any
    ) -> Checked:
        verifier = ScriptedChatModel(replies={"": judge}, profile=PROFILE, model_name=model)
        return asyncio.run(self._checked(kept, verifier, settings))

    async def _checked(
        self, kept: str, verifier: ScriptedChatModel, settings: dict[str, Any]
    ) -> Checked:
        writer = ScriptedChatModel(
            replies={"": lambda *_: calls(call("rewrite_sentences", sentences=[]))}, profile=PROFILE
        )
        models: Any = {"verifier": verifier, "writer": writer}
        context = Context(models=models, **{"verify": "check", **settings})
        run = run_for_check(self.text, context)
        events = SilentEvents(Emitter(lambda _: None), Placement(turn_index=0))
        filler = Filler(context, run, events, events.placement)
        sources = {
            key: source_at(
                key, self.titles[key], number=number, content_hash=text_hash(self.texts[key])
            )
            for number, key in KEYS.items()
        }
        texts = {key: [SourceText(text_hash(text), text)] for key, text in self.texts.items()}
        draft = CitingText(text=self.text, sources=tuple(KEYS.values()), numbers=tuple(KEYS))
        examination = Examination(
            draft, texts, sources, filler, "en", self.calculations, self.messages, [kept]
        )
        examined = await examination.examine()
        asked = list[list[str]]()
        for request in verifier.calls:
            units, _passages = units_shown(request.text)
            asked.append([unit["says"] for unit in units])
        return Checked(examined, examination.kept_verdicts(), asked, len(writer.calls))


Rows = tuple[tuple[str, str], ...]
"""The rows of the table: year and trips."""
Paragraph = tuple[Statement, ...]


def table(rows: Rows) -> str:
    return HEAD + "\n".join(f"| {year} | {value} [3] |" for year, value in rows)


TABLE: Rows = (("2023", "957"), ("2024", "1,090"))
ALL = tuple((statement,) for statement in STATEMENTS)


def report(*paragraphs: Paragraph, rows: Rows = TABLE) -> str:
    """A report of these paragraphs below its table."""
    texts = [" ".join(statement.text for statement in paragraph) for paragraph in paragraphs]
    return "\n\n".join(["# Findings", table(rows), *texts])


def test_nothing_is_judged_again_if_nothing_has_changed() -> None:
    thread = Thread(report(*ALL))
    first = thread.check()
    second = thread.check(first.kept)
    assert second.asked == []
    assert second.examined == first.examined
    assert second.kept == first.kept


def chosen(*parts: str) -> tuple[Paragraph, ...]:
    """The statements that begin with these words, each a paragraph."""
    found = list[Paragraph]()
    for part in parts:
        found += [(statement,) for statement in STATEMENTS if statement.text.startswith(part)]
    return tuple(found)


def test_another_judge_judges_all() -> None:
    thread = Thread(report(*ALL))
    first = thread.check()
    assert thread.check(first.kept, model="another").units_asked == first.units_asked


def test_no_verdict_is_taken_before_the_judge_is_tried_or_after_it_failed(tmp_path: Path) -> None:
    thread = Thread(report(*ALL))
    first = thread.check()
    tried = thread.check(first.kept, trust_verifier=False, data_dir=tmp_path)
    assert tried.examined.grade == "unsound"
    assert tried.units_asked.isdisjoint(first.units_asked)
    assert {verdict.decided_by for verdict in tried.examined.verdicts} == {"", "quotation"}
    assert tried.kept == ""
    again = thread.check(first.kept, trust_verifier=False, data_dir=tmp_path)
    assert (again.asked, again.examined) == ([], tried.examined)


def test_a_judge_that_passed_its_trial_is_neither_tried_nor_asked_again(tmp_path: Path) -> None:
    settings: Any = {"trust_verifier": False, "data_dir": tmp_path, "judge": tried}
    thread = Thread(report(*ALL))
    first = thread.check(**settings)
    assert (first.examined.grade, len(first.asked)) == ("reasoning", 2)
    second = thread.check(first.kept, **settings)
    assert (second.asked, second.examined) == ([], first.examined)


def test_a_new_row_and_a_new_column_leave_the_other_cells_alone() -> None:
    text = "| Year | Tonnes |\n| --- | --- |\n| 1911 | 340 [1] |\n| 1912 | 341 [1] |"
    kept = Thread(text).check().kept
    row = Thread(f"{text}\n| 1913 | 342 [1] |").check(kept)
    assert row.units_asked == {"1913", "1913, Tonnes: 342"}
    lines = list[str]()
    for line, cell in zip(text.split("\n"), ("Width", "---", "6 [1]", "7 [1]"), strict=True):
        lines.append(f"{line} {cell} |")
    column = Thread("\n".join(lines)).check(kept)
    assert column.units_asked == {
        "Year | Tonnes | Width",
        "1911, Width: 6",
        "1912, Width: 7",
    }


CELLS_ASKED = {"Year | Tonnes", "1911", "1911, Tonnes: 340"}


def test_a_table_rests_on_the_sentence_before_it_only_if_that_is_new_or_introduces_it() -> None:
    rows = "| Year | Tonnes |\n| --- | --- |\n| 1911 | 340 [1] |"
    text = f"# Mill\n\nIt has a wheel. [1] The mill is old.\n\n# Tonnes\n\n{rows}"
    kept = Thread(text).check().kept
    merged = Thread(text.replace("# Tonnes\n\n", "")).check(kept)
    assert merged.units_asked == set()
    shorter = text.replace(" The mill is old.", "").replace("# Tonnes\n\n", "")
    assert Thread(shorter).check(kept).units_asked == set()
    other = Thread(text.replace("# Tonnes", "It ground rye.")).check(kept)
    assert other.units_asked == {*CELLS_ASKED, "It ground rye."}
    introduced = text.replace("# Tonnes", "The mill, in tonnes:")
    kept = Thread(introduced).check().kept
    assert Thread(text).check(kept).units_asked == {*CELLS_ASKED, "Tonnes"}


def test_what_was_not_found_is_judged_again_if_a_new_source_has_a_word_or_figure_of_it() -> None:
    unproved, plain = "So 77 sacks are left.", "Nothing of it is certain."
    text = f"# Mill\n\nIt has a wheel. [1]\n\n{unproved}\n\n{plain}"
    kept = Thread(text).check().kept
    cited = f"{text}\n\nLorries have to stay away. [2]"
    asked = Thread(cited).check(kept)
    assert unproved not in asked.units_asked and plain not in asked.units_asked
    grey = {**TEXTS, BRIDGE: f"{TEXTS[BRIDGE]}It is grey.\n"}
    asked = Thread(cited, grey).check(kept)
    assert unproved not in asked.units_asked and plain in asked.units_asked
    sacks = {**TEXTS, BRIDGE: f"{TEXTS[BRIDGE]}There are 77 of them.\n"}
    asked = Thread(cited, sacks).check(kept)
    assert {unproved, plain} <= asked.units_asked


def test_a_sentence_is_judged_again_after_another_sentence_or_among_other_clauses() -> None:
    before = (
        "The mill is old. It ground rye [1], and it stands by the bridge [2]. It has a wheel. [1]"
    )
    kept = Thread(before).check().kept
    other = Thread(before.replace("mill is old", "bridge is old")).check(kept)
    assert other.units_asked == {
        "The bridge is old.",
        "It ground rye",
        "and it stands by the bridge.",
    }
    other = Thread(before.replace("ground rye", "ground oats")).check(kept)
    assert other.units_asked == {
        "It ground oats",
        "and it stands by the bridge.",
        "It has a wheel.",
    }


def test_a_conclusion_without_a_proof_is_judged_again_if_a_statement_is_gone() -> None:
    all_of_them = chosen("All in all", "As is known", "So the mill")
    kept = Thread(report(*all_of_them)).check().kept
    more = (*all_of_them[:1], *chosen("Lorries"), *all_of_them[1:])
    added = Thread(report(*more)).check(kept)
    assert added.units_asked == {
        "Lorries have to stay away.",
        "As is known, 6 metres is its width.",
    }
    removed = Thread(report(*all_of_them[1:])).check(kept)
    assert "So the mill should be kept." in removed.units_asked


def test_a_conclusion_rests_on_its_section_and_a_summary_on_the_whole_report() -> None:
    summary, own = "Hence both are worth a visit.", "So the mill should be kept."
    mill, bridge = STATEMENTS[0].text, STATEMENTS[2].text
    text = f"# Both\n\n{summary}\n\n## Mill\n\n{mill}\n\n{own}\n\n## Bridge\n\n{bridge}"
    kept = Thread(text).check().kept
    assert Thread(text.replace(bridge, "")).check(kept).units_asked == {summary}
    assert Thread(text.replace(mill, "")).check(kept).units_asked == {summary, own}


def test_what_rests_on_a_message_is_judged_again_without_it() -> None:
    thread = Thread(report(*chosen("For your", "The bridge has")))
    kept = thread.check().kept
    longer = thread._replace(messages=[*MESSAGES, "Thanks."])
    assert longer.check(kept).asked == []
    other = thread._replace(messages=["We have 14 boats."]).check(kept)
    assert other.units_asked == {"For your 14 bridges it takes 28 days."}


def test_a_figure_that_a_researcher_calculated_stays_proved_in_the_next_question() -> None:
    thread = Thread("The wheels of two mills are 12 metres wide. [1]")
    width = CalculationInput(value=6, origin="source", source=KEYS[1])
    twice = CalculationInput(value=2, origin="constant")
    calculation = Calculation(
        number=1,
        name="Width of both",
        formula="6 * 2",
        inputs=(width, twice),
        value=12,
        result="12",
    )
    with_calculation = thread._replace(calculations=[calculation])
    first = with_calculation.check()
    assert [verdict.decided_by for verdict in first.examined.verdicts] == ["calculation"]
    again = with_calculation.check(first.kept)
    assert (again.asked, again.examined) == ([], first.examined)
    assert [verdict.shown for verdict in thread.check(first.kept).examined.verdicts] == [
        "not_verified"
    ]


def test_a_calculated_figure_rests_only_on_units_that_cite_the_sources_of_its_inputs() -> None:
    sums = "| Two mills | 12 [calc 1] |"
    rows = f"| Mill | Metres |\n| --- | --- |\n| One | 6 [1] |\n{sums}"
    built = "The bridge was built in 6 years. [2]"
    width = CalculationInput(value=6, origin="source", source=KEYS[1])
    twice = CalculationInput(value=2, origin="constant")
    calculation = Calculation(
        number=1, name="Both", formula="6 * 2", inputs=(width, twice), value=12, result="12"
    )
    thread = Thread(f"{rows}\n\n{built}", calculations=[calculation])
    kept = thread.check().kept
    calculated = "Two mills, Metres: 12"
    other = thread._replace(text=f"{rows}\n\n{built.replace('6', '7')}").check(kept)
    assert other.units_asked == {"The bridge was built in 7 years."}
    changed = thread._replace(text=f"{rows.replace('6 [1]', '5 [1]')}\n\n{built}").check(kept)
    assert calculated in changed.units_asked


def test_neither_a_label_nor_a_figure_rests_on_a_unit_that_only_has_it_in_a_date() -> None:
    dated = "On 3 March 2026 it ground rye."
    rows = "| Mill | Metres |\n| --- | --- |\n| Largest three | 6 [1] |"
    built = "The 3 mills are 6 metres wide. [1]"
    text = f"# Mills\n\nIt has a wheel. [1] {dated} [1]\n\n# All\n\n{rows}\n\n{built}"
    kept = Thread(text).check().kept
    moved = Thread(text.replace("It has a wheel", "It is a mill")).check(kept)
    assert moved.units_asked == {"It is a mill.", dated}
    assert Thread(text.replace("3 mills", "three mills")).check(kept).units_asked == {
        "The three mills are 6 metres wide."
    }


def test_what_is_calculated_from_sources_rests_on_the_words_of_others_not_on_their_verdicts() -> (
    None
):
    wide = "It is 6 metres wide. [1]"
    width = CalculationInput(value=6, origin="source", source=KEYS[1])
    twice = CalculationInput(value=2, origin="constant")
    calculation = Calculation(
        number=1, name="Both", formula="6 * 2", inputs=(width, twice), value=12, result="12"
    )
    both = "Both have 12 metres. [calc 1]"
    text = f"# Mills\n\nThe mill is old. {wide}\n\n{both}"
    thread = Thread(text, calculations=[calculation])
    kept = thread.check().kept
    other = thread._replace(text=text.replace("mill is old", "wheel is old")).check(kept)
    assert other.units_asked == {"The wheel is old.", "It is 6 metres wide."}
    gone = thread._replace(text=text.replace(wide, "It is 5 metres wide. [1]")).check(kept)
    assert "Both have 12 metres." in gone.units_asked
    source = thread._replace(texts={**TEXTS, MILL: OTHER_TEXTS[MILL]}).check(kept)
    assert "Both have 12 metres." in source.units_asked


def test_nobody_corrects_again_what_could_not_be_corrected() -> None:
    thread = Thread(report(*chosen("It is 48 metres")))
    first = thread.check(verify="repair")
    second = thread.check(first.kept, verify="repair")
    assert (first.rewrites, second.rewrites) == (1, 0)
    assert second.examined == first.examined
    checked = thread.check()
    assert thread.check(checked.kept, verify="repair").rewrites == 1


def test_a_verdict_without_its_second_look_is_not_kept() -> None:
    thread = Thread(report(*chosen("Twice", "Lorries")), messages=())
    limits = Limits(max_opinions=1)
    first = thread.check(limits=limits)
    assert len(first.asked) == 1
    second = thread.check(first.kept)
    assert second.asked == [[DOUBLE]] * 2
    assert thread.check(second.kept, limits=Limits(max_opinions=0)).examined == second.examined


# Left out is the statement with another source's words: whether the judge is shown that source
# depends on the units that are judged with it.
paragraphs = st.lists(
    st.sampled_from([number for number in range(len(STATEMENTS)) if number != FOREIGN]),
    min_size=1,
    max_size=3,
    unique=True,
).map(lambda chosen: tuple(STATEMENTS[number] for number in chosen))
numbers = st.integers(0, 20)
MOST_EXAMPLES = 30
"""Each example is four checks of a report."""
edits = st.one_of(
    st.tuples(st.just("delete"), numbers),
    st.tuples(st.just("insert"), numbers, paragraphs),
    st.tuples(st.just("move"), numbers, numbers),
    st.tuples(st.just("cell"), st.integers(0, 1), st.sampled_from(CELLS)),
    st.tuples(st.just("source"), st.sampled_from([*TEXTS])),
    st.tuples(st.just("title"), st.sampled_from([*TEXTS])),
    st.tuples(st.just("message"), st.sampled_from([(), ("Go on.",), ("Our 28 days are over.",)])),
)


class Edited(NamedTuple):
    """A thread while it is edited."""

    paragraphs: list[Paragraph]
    rows: Rows = TABLE
    texts: Mapping[str, str] = TEXTS
    titles: Mapping[str, str] = Thread("").titles
    messages: Sequence[str] = MESSAGES

    def after(self, edit: tuple[Any, ...]) -> Edited:
        kind, what, *more = edit
        paragraphs = [*self.paragraphs]
        match kind:
            case "delete" if what < len(paragraphs):
                del paragraphs[what]
            case "insert":
                paragraphs.insert(what, more[0])
            case "move" if what < len(paragraphs):
                paragraphs.insert(more[0], paragraphs.pop(what))
            case "cell":
                rows = [*self.rows]
                rows[what] = (rows[what][0], more[0])
                return self._replace(rows=tuple(rows))
            case "source":
                return self._replace(texts={**self.texts, what: OTHER_TEXTS[what]})
            case "title":
                return self._replace(titles={**self.titles, what: "Another page"})
            case "message":
                return self._replace(messages=what or MESSAGES[1:])
        return self._replace(paragraphs=paragraphs)

    @property
    def thread(self) -> Thread:
        text = report(*self.paragraphs, rows=self.rows)
        return Thread(text, self.texts, self.messages, self.titles)


def bases(thread: Thread) -> dict[str, set[tuple[Any, ...]]]:
    """What the verdict on each unit rests on at least, by its words."""
    units = report_units(thread.text, KEYS)
    stated = {unit.text for unit in units}
    by_text = {statement.text.partition(" [")[0]: statement for statement in STATEMENTS}
    found = defaultdict[str, set[tuple[Any, ...]]](set)
    for unit in units:
        verdict = verdict_on(unit.text)
        keys = {*unit.sources}
        if verdict.get("is_absence"):
            keys = {*KEYS.values()}
        for key, text in thread.texts.items():
            if verdict["words"] and verdict["words"] in text:
                keys.add(key)
        sources = tuple((key, thread.texts[key], thread.titles[key]) for key in sorted(keys))
        premises = frozenset(premises_of(by_text.get(unit.text), stated))
        found[unit.text].add((unit.kind, unit.before, unit.sources, sources, premises))
    return found


def premises_of(statement: Statement | None, stated: set[str]) -> set[str]:
    """The units that a statement rests on, of those that a report states; those of its premises
    too."""
    premises = set[str]()
    for text in statement.premises if statement else ():
        if text in stated:
            by_text = {other.text: other for other in STATEMENTS}
            premises |= {text, *premises_of(by_text.get(text), stated)}
    return premises


@pytest.mark.slow
@settings(max_examples=min(MOST_EXAMPLES, settings().max_examples))
@given(
    st.sampled_from(["check", "repair"]),
    st.lists(paragraphs, max_size=6),
    st.lists(edits, max_size=4),
)
def test_a_unit_is_left_out_only_if_its_basis_is_equal_and_no_verdict_differs(
    verify: str, before: list[Paragraph], changes: list[tuple[Any, ...]]
) -> None:
    edited = Edited(before)
    first = edited.thread.check(verify=verify)
    old = bases(edited.thread)
    for change in changes:
        edited = edited.after(change)
    fresh = edited.thread.check(verify=verify)
    second = edited.thread.check(first.kept, verify=verify)
    assert second.examined == fresh.examined
    final = edited.thread._replace(text=second.examined.text)
    assert final.check(second.kept, verify=verify).asked == []
    assert second.units_asked <= fresh.units_asked
    new = bases(edited.thread)
    for unit in fresh.units_asked - second.units_asked:
        assert new[unit] <= old[unit], unit
