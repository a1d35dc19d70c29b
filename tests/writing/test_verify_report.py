"""A report is checked by a model that is tried first: wrong statements are corrected where
possible, else marked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from kit.models import ScriptedChatModel, by_figures, call, calls, judged, units_shown
from kit.openai_server import Received, Reply, say, use
from kit.reports import BOTH, audited, claim, rewritten
from kit.runs import (
    REPORT,
    FailingStore,
    HandClock,
    Lab,
    lab,
    report_of,
    researched,
    search,
    written,
)
from kit.wire import Wires, verified
from langchain_core.language_models import ModelProfile
from langgraph.checkpoint.memory import InMemorySaver

from deep_research.app.embed import build_graph
from deep_research.core.errors import KeyRefused, RateLimited
from deep_research.core.writing._trial import QUOTATIONS_TRIAL, REASONING_TRIAL, TrialStatement
from deep_research.state import ResearchState

Patch = pytest.MonkeyPatch

PROFILE = ModelProfile(max_input_tokens=100_000)
SAID = "The Skerry Light was lit for the first time in 1844."
KEPT = ("supported", "Ada Moran kept the Skerry Light from 1901 to 1932.")


def verifier(*verdicts: Sequence[str | tuple[str, str]]) -> ScriptedChatModel:
    """A verifier that gives these verdicts, call by call."""
    return ScriptedChatModel(replies=[judged(*said) for said in verdicts], profile=PROFILE)


def checked(state: ResearchState) -> list[tuple[str, str, str | None, bool]]:
    """Words, verdict, repair and mark of each claim."""
    report = state.report
    assert report
    return [
        (report.text[each.start : each.end], each.verdict, each.repair, each.is_marked)
        for each in report.claims
    ]


async def ask(tmp_path: Path, writer: list[Any], **settings: Any) -> tuple[Lab, ResearchState]:
    """A run whose researcher has read two documents; its replay has the same packets."""
    run, state = await report_of(tmp_path, writer=writer, researcher=BOTH, **settings)
    again = [packet.model_dump(mode="json") for packet in await run.replayed()]
    final = ("report_revised", "report_audited", "notes_added")
    streamed, replayed = (
        [each for each in packets if each["type"] in final] for packets in (run.packets, again)
    )
    assert streamed == replayed
    return run, state


async def test_statements_that_are_not_supported_are_marked_each_by_itself(tmp_path: Path) -> None:
    wrong = "It stands 83 metres tall. [1]"
    clauses = (
        "It was lit in 1844, they say [1], and Ada Moran kept it until 1999 [2], which was long."
    )
    run, state = await ask(tmp_path, [f"It was lit in 1844. [1] {wrong} {clauses}"], verify="check")
    marked = clauses.replace("1999 [2]", "1999 [2] *(not verified)*")
    assert (
        state.report
        and state.report.text == f"It was lit in 1844. [1] {wrong} *(not verified)* {marked}"
    )
    assert [said for _, *said in checked(state)] == [
        ["supported", None, False],
        ["unsupported", None, True],
    ] * 2
    (passage,) = claim(state).passages
    assert (passage.verdict, passage.quote) == ("supported", SAID)
    assert passage.content_hash == state.sources[passage.source].content_hash
    assert claim(state, 1).passages[0].judge == "scripted"
    assert len(run.calls("writer")) == 1
    (revised,) = run.of_type("report_revised")
    assert revised["content"].count("*(") == 2
    assert (audited(state).supported, audited(state).marked) == (2, 2)
    assert f"{wrong} *(not verified)*" in state.messages[-1].text


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(
    ("written", "verify", "text"),
    [
        (
            "The light was lit in 1844 (Moran kept it from 1801 [2]) [1].",
            "check",
            "The light was lit in 1844 (Moran kept it from 1801 [2] *(not verified)*) [1].",
        ),
        (
            "The light was lit in 1866 (Moran kept it from 1901 [2]) [1].",
            "check",
            "The light was lit in 1866 *(not verified)* (Moran kept it from 1901 [2]) [1].",
        ),
        (
            "The light was lit in 1844 (Moran kept it from 1801 [2]) [1].",
            "repair",
            "The light was lit in 1844 (Moran kept it from 1901 [2]) [1].",
        ),
        (
            "The light was lit in 1866 (Moran kept it from 1901 [2]) at first [1].",
            "repair",
            "The light was lit in 1844 (Moran kept it from 1901 [2]) at first [1].",
        ),
    ],
)
async def test_a_claim_in_brackets_is_marked_or_corrected_by_itself(
    tmp_path: Path, written: str, verify: Any, text: str
) -> None:
    writer = [written, rewritten(text)] if verify == "repair" else [written]
    _, state = await report_of(tmp_path, writer=writer, researcher=BOTH, verify=verify)
    assert state.report and state.report.text == text
    for claim_check in state.report.claims:
        assert "(" not in state.report.text[claim_check.start : claim_check.end].partition(" *(")[0]


async def test_the_writer_corrects_an_unsupported_sentence_once_and_a_cell_alone(
    tmp_path: Path,
) -> None:
    head = "| Place | Lit | Height (m) |\n| --- | --- | --- |\n"
    rows = [f"| Skerry Light | 1844 [1] | {height} [1] |" for height in ("83", "38")]
    sentences = [f"It stands {height} metres tall. [1]" for height in ("83", "38")]
    script = [f"{sentences[0]}\n\n{head}{rows[0]}", rewritten(sentences[1], rows[1])]
    run, state = await ask(tmp_path, script)
    assert state.report and state.report.text == f"{sentences[1]}\n\n{head}{rows[1]}"
    repairs = [(text, repair) for text, _, repair, _ in checked(state)]
    assert repairs == [(sentences[1], "rewritten"), ("1844 [1]", None), ("38 [1]", "rewritten")]
    assert "Skerry Light, Height (m): 83" in run.calls("verifier")[0].text
    shown = run.calls("writer")[1].text
    assert sentences[0] in shown and "It stands 38 metres tall." in shown
    assert audited(state).corrected == 2
    (revised,) = run.of_type("report_revised")
    assert revised["content"].startswith(sentences[1])


async def test_a_wrong_citation_is_replaced_by_the_right_one(tmp_path: Path) -> None:
    written = "Ada Moran kept the Skerry Light from 1901 to 1932, all told. [1]"
    right = written.replace("[1]", "[2]")
    _, state = await ask(
        tmp_path, [written, rewritten(right)], verifier=verifier(["not_found"], [KEPT])
    )
    assert checked(state) == [(right, "supported", "cited anew", False)]
    assert state.report and [state.sources[key].title for key in state.report.sources] == [
        "Ada Moran"
    ]


async def test_right_statements_and_conclusions_without_citations_stay_and_are_no_claims(
    tmp_path: Path,
) -> None:
    cited, kept = (
        "It was lit in 1844, they say. [1]",
        "Ada Moran kept the Skerry Light from 1901 to 1932, all told.",
    )
    text = f"{cited} {kept} That is too late, we think."
    run, state = await ask(
        tmp_path, [text], verifier=verifier([("supported", SAID), KEPT, "reasoning"])
    )
    assert state.report and state.report.text == text
    assert [claimed for claimed, *_ in checked(state)] == [cited]
    assert len(run.calls("writer")) == 1


async def test_words_shown_for_another_statement_may_decide(tmp_path: Path) -> None:
    written = "It was lit in 1844, they say. [1] She came from Cork. [1] Ada Moran was kind, they say. [2]"
    expected = ("contradicted", "She was born in Tralee.")
    judge = verifier([("supported", SAID), expected, ("supported", KEPT[1])])
    _, state = await ask(tmp_path, [written], verify="check", verifier=judge)
    assert state.report and state.report.verdicts[1].words == "She was born in Tralee."
    assert state.sources[state.report.verdicts[1].source].title == "Ada Moran"


async def test_a_row_label_is_corrected_and_its_cells_are_judged_beside_the_new_label(
    tmp_path: Path,
) -> None:
    head = "| Place | Lit | Height (m) |\n| --- | --- | --- |\n"
    written, right = (f"| {name} | 1844 [1] | 38 [1] |" for name in ("Skerry Lamp", "Skerry Light"))

    def answer(messages: list[Any], _: Any) -> Any:
        reply = by_figures(messages[-1].text)
        for unit, said in zip(
            units_shown(messages[-1].text)[0], reply.tool_calls[0]["args"]["verdicts"], strict=True
        ):
            if unit["says"].startswith("Skerry Lamp"):
                said.update(verdict="contradicted", words=SAID, right="Skerry Light")
        return reply

    judge = ScriptedChatModel(replies={"": answer}, profile=PROFILE)
    run, state = await ask(tmp_path, [head + written, rewritten(right)], verifier=judge)
    assert state.report and state.report.text == head + right
    assert len(run.calls("verifier")) == 2
    assert (audited(state).marked, audited(state).corrected) == (0, 1)


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(
    ("handed_in", "times"),
    [
        ("It was lit in 1844, not before. [1]", 1),
        ("It was not lit in 1844, not before. [1]", 2),
        ("It was lit in 1844, before. [1]", 2),
        ("It was lit in 1844 or 1845, not before. [1]", 2),
    ],
    ids=["as named", "turned round", "less", "more"],
)
async def test_a_correction_is_judged_again_unless_a_judge_gave_it(
    tmp_path: Path, handed_in: str, times: int
) -> None:
    written = "It was lit in 1848, not before. [1]"
    said = {"unit": 1, "verdict": "contradicted", "words": SAID, "right": "1844"}
    wrong = calls(call("judge_units", verdicts=[said]))
    judge = ScriptedChatModel(replies=[wrong, judged("contradicted")], profile=PROFILE)
    run, state = await ask(tmp_path, [written, rewritten(handed_in)], verifier=judge)
    assert len(run.calls("verifier")) == times
    assert state.report and state.report.text.startswith(handed_in if times == 1 else written)
    (checked,) = state.report.verdicts
    assert checked.shown == ("corrected" if times == 1 else "marked")


@pytest.mark.parametrize(("quoted", "is_corrected"), [(f"{SAID}\n{KEPT[1]}", True), (SAID, False)])
async def test_a_correction_may_cite_one_more_source_if_the_judge_has_quoted_it(
    tmp_path: Path, quoted: str, is_corrected: bool
) -> None:
    right = "Lit in 1844, it was kept by Ada Moran. [1][2]"
    written = "Lit in 1844, it was kept by Ada Moran of Skerry. [1]"
    judge = verifier(
        [("not_found", quoted)], [("not_found", quoted)], [("supported", f"{SAID}\n{KEPT[1]}")]
    )
    _, state = await ask(tmp_path, [written, rewritten(right)], verifier=judge)
    assert state.report and state.report.text.startswith(right if is_corrected else written)


async def test_a_statement_that_was_not_found_at_first_is_compared_with_more_passages(
    tmp_path: Path,
) -> None:
    wrote = f"the keeper of the lamp wrote {'of storms and ships ' * 15}."
    years = "\n\n".join(f"In {year} {wrote}" for year in range(1860, 1900))
    opened = calls(call("open_url", urls=["docs:long/moran.md"]))
    researcher = [search("keeper lamp storms"), opened, REPORT, "The keeper wrote. [1]"]
    judge = verifier(["not_found"], [("supported", "wrote of storms and ships")])
    draft = ["The keeper of the lamp wrote of storms, all told. [1]"]
    run = lab(tmp_path, writer=draft, researcher=researcher, verifier=judge)
    run.folder = written(
        tmp_path / "long", {"moran_md": f"# Ada Moran\n\n{years}\n\nThe lamp went out in March.\n"}
    )
    assert claim(await run.ask()).verdict == "supported"
    first, second = (units_shown(asked.text)[1] for asked in run.calls("verifier"))
    assert len(second[1]) > 2 * len(first[1])


@pytest.mark.parametrize(
    ("opinions", "not_verified", "mark"), [(24, 0, " *(not verified)*"), (0, 2, "")]
)
async def test_figures_that_no_source_states_are_marked_or_without_a_judge_counted(
    tmp_path: Path, opinions: int, not_verified: int, mark: str
) -> None:
    text = "It was lit in 1844. [1] The ferry sank with 212 passengers."
    _, state = await ask(tmp_path, [text, rewritten("")], limits={"max_opinions": opinions})
    assert state.report and state.report.text == f"{text}{mark}"
    assert (audited(state).checked, audited(state).not_verified) == (2, not_verified)


async def test_a_failed_correction_is_reported_and_the_sentence_is_marked(tmp_path: Path) -> None:
    run, state = await ask(
        tmp_path, ["It stands 83 metres tall. [1]", ValueError("the model broke")]
    )
    assert claim(state).is_marked
    assert state.run and state.run.status == "completed"
    assert "ValueError" in audited(state).failures[0]
    emitted = [packet["message"] for packet in run.of_type("error")]
    assert emitted == [packet.message for packet in await run.replayed() if packet.type == "error"]


async def test_neither_report_nor_verdicts_are_paid_again_when_the_check_was_stopped(
    tmp_path: Path,
) -> None:
    wrong, right = (f"It stands {height} metres tall. [1]" for height in ("83", "38"))
    script = [wrong, RateLimited("Too many requests."), rewritten(right)]
    run = await researched(tmp_path, writer=script, researcher=BOTH)
    with pytest.raises(RateLimited):
        await run.ask(None)
    stopped = await run.state()
    assert stopped.draft and stopped.report is None
    state = await run.ask(None)
    assert state.report and state.report.text == right
    assert (len(run.calls("writer")), len(run.calls("verifier"))) == (3, 1)


@pytest.mark.parametrize(
    ("verdict", "reasons"),
    [
        ("supported", ("not proved: 1846 is not in those words",)),
        ("contradicted", (f"the source says: {SAID}", "it should say: 1844")),
    ],
)
async def test_words_without_its_number_never_support_a_sentence(
    tmp_path: Path, verdict: str, reasons: Any
) -> None:
    said = [{"unit": 1, "verdict": verdict, "words": "first time in 1844", "right": "1844"}]
    judge = ScriptedChatModel(
        replies=[calls(call("judge_units", verdicts=said))] * 2, profile=PROFILE
    )
    _, state = await ask(
        tmp_path, ["The Skerry Light was lit in 1846. [1]"], verify="check", verifier=judge
    )
    (passage,) = claim(state).passages
    assert (passage.judge, passage.quote, passage.reasons) == ("scripted", SAID, reasons)
    assert (claim(state).verdict, claim(state).is_marked) == ("unsupported", True)


@pytest.mark.fault(24, logs="WARNING core.models.ask")
@pytest.mark.parametrize(("opinions", "judge"), [(24, "scripted"), (0, "")])
async def test_a_verifier_whose_key_is_refused_stops_the_run_which_goes_on_with_another_key_or_without_a_judge(
    tmp_path: Path, opinions: int, judge: str
) -> None:
    doubtful = "Ada Moran, the woman of Tralee, looked after the lamp for decades. [1]"
    model = ScriptedChatModel(
        replies=[KeyRefused("no"), judged(("supported", "Tralee"))], profile=PROFILE
    )
    researcher = [search("Ada Moran"), REPORT, "She was born in Tralee. [1]"]
    run = await researched(
        tmp_path, writer=[doubtful], researcher=researcher, verify="check", verifier=model
    )
    with pytest.raises(KeyRefused):
        await run.ask(None)
    assert (await run.state()).draft
    run.settings["limits"] = {"max_opinions": opinions}
    assert claim(await run.ask(None)).passages[0].judge == judge
    assert (len(run.calls("writer")), len(run.calls("verifier"))) == (1, 1 + bool(opinions))


async def test_a_check_that_breaks_does_not_cost_the_report(tmp_path: Path) -> None:
    store = FailingStore()
    graph = build_graph(checkpointer=InMemorySaver(), store=store)
    script = [store.losing("The Skerry Light was lit in 1844. [1]", 1)]
    state = await lab(
        tmp_path, writer=script, researcher=BOTH, graph=graph, clock=HandClock()
    ).ask()
    assert state.report and state.report.text == "The Skerry Light was lit in 1844. [1]"
    assert (state.report.claims, state.report.audit) == ((), None)
    assert (
        "were not checked against their sources: an error stopped it (OSError)"
        in state.messages[-1].text
    )
    assert state.run and (state.run.status, state.run.active_seconds) == ("completed_with_gaps", 0)


TITLED = "# The Skerry Light was lit in {}\n\n1. When was it lit?"
LIT_1844 = "The Skerry Light was lit for the first time in 1844."


def of_title(asked: str) -> Any:
    """A judge that knows when the light was lit, and supports all other statements."""
    units, _ = units_shown(asked)
    said = list[dict[str, Any]]()
    for unit in units:
        verdict: dict[str, Any] = {"unit": unit["unit"], "verdict": "supported", "words": LIT_1844}
        if "1866" in unit["says"]:
            verdict |= {"verdict": "contradicted", "right": "1844"}
        elif "1844" not in unit["says"]:
            verdict["verdict"] = "reasoning"
        said.append(verdict)
    return calls(call("judge_units", verdicts=said))


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(
    ("plan", "verify", "title", "figures"),
    [
        # What stands above the report, and how many units are supported, corrected, marked and
        # without need of a source.
        (TITLED.format(1866), "repair", "# The Skerry Light was lit in 1844", (1, 1, 0, 0)),
        (
            TITLED.format(1866),
            "check",
            "# The Skerry Light was lit in 1866 *(not verified)*",
            (1, 0, 1, 0),
        ),
        (TITLED.format(1844), "repair", "# The Skerry Light was lit in 1844", (2, 0, 0, 0)),
        ("# A \\[light\\] & *more*\n\n1. When", "repair", "# A ", (1, 0, 0, 1)),
        ("1. When was it lit?", "repair", "The Skerry Light", (1, 0, 0, 0)),
    ],
)
async def test_the_title_of_a_report_is_judged_corrected_and_marked_like_a_heading(
    tmp_path: Path, plan: str, verify: Any, title: str, figures: tuple[int, ...]
) -> None:
    def answer(messages: list[Any], _: Any) -> Any:
        return of_title("\n".join(message.text for message in messages))

    run = lab(
        tmp_path,
        planner=[plan],
        writer=[f"{LIT_1844} [1]", rewritten("# The Skerry Light was lit in 1844")],
        researcher=BOTH,
        verifier=ScriptedChatModel(replies={"": answer}, profile=PROFILE),
        verify=verify,
    )
    state = await run.ask()
    assert state.report
    text = state.messages[-1].text
    assert text.partition("\n")[0].startswith(title)
    assert state.report.text.startswith(LIT_1844)
    [supported] = state.report.claims
    assert state.report.text[supported.start : supported.end] == f"{LIT_1844} [1]"
    audit = audited(state)
    assert (audit.supported, audit.corrected, audit.marked, audit.reasoning) == figures
    assert audit.checked == sum(figures)


async def test_nothing_is_checked_if_the_check_is_off(tmp_path: Path) -> None:
    run, state = await ask(tmp_path, ["It stands 83 metres tall. [1]"], verify="off")
    assert state.report and state.report.text == "It stands 83 metres tall. [1]"
    assert (state.report.claims, state.report.audit) == ((), None)
    assert not {"report_revised", "report_audited"} & {*run.types()} and not run.calls("verifier")


async def test_files_of_a_folder_count_as_one_source_unless_they_name_their_publisher(
    tmp_path: Path,
) -> None:
    story = (
        "The Skerry Light was lit for the first time in 1844 by a crew of nine masons. The board of trade had asked "
        "for a tower of granite, and the granite came by boat from the mainland in two long and stormy summers."
    )
    log = "---\npublisher: Harbour office\n---\n# The log\n\nThe Skerry Light was lit in 1844 for the first time.\n"
    files = {
        f"{name}_md": f"# The {name}\n\n{story}\n" for name in ("herald", "courier", "gazette")
    }
    finding = "It was lit in 1844. [1, 2, 3, 4]"
    opened = calls(
        call(
            "open_url",
            urls=[f"docs:reprints/{name}.md" for name in ("herald", "courier", "gazette")],
        )
    )
    run = lab(
        tmp_path,
        writer=[finding],
        researcher=[search("Skerry Light lit 1844"), opened, REPORT, finding],
    )
    run.folder = written(tmp_path / "reprints", {**files, "log_md": log})
    state = await run.ask()
    assert (audited(state).sources_cited, audited(state).independent_sources) == (4, 2)
    assert claim(state).independent == 2
    assert [len(group) for group in audited(state).reprints] == [3]


TRIAL = (*QUOTATIONS_TRIAL, *REASONING_TRIAL)
RIGHT: dict[str, TrialStatement] = {statement.says: statement for statement in TRIAL}
TEXT = " ".join(
    f"It was in 1844 that {who} lit the Skerry Light. [1]" for who in ("somebody", "they", "a crew")
)
LINES = "\n\n".join(
    f"It was lit in 1844, as they say {number} times. [1]" for number in range(13, 33)
)


@pytest.fixture
def tried(monkeypatch: Patch, wires: Wires) -> Wires:
    """Whole runs whose verifier is tried before it is believed."""
    monkeypatch.delenv("DEEP_RESEARCH_TRUST_VERIFIER")
    return wires


def judge(verdict: str, reasons: bool = True) -> Callable[[Received], Reply]:
    """A judge whose verdict on the statements of the trial is always the same, or else right;
    without `reasons`, it hands in no calculation."""

    def answer(request: Received) -> Reply:
        units, passages = units_shown(request.prompt)
        if units[0]["says"] not in RIGHT:
            return verified(request)
        said = list[dict[str, Any]]()
        for unit in units:
            statement = RIGHT[unit["says"]]
            given = {"unit": unit["unit"], "verdict": verdict or statement.verdicts[0]}
            if statement.calculation and reasons:
                given["words"] = "\n".join(map(passages.__getitem__, unit.get("cites", ())))
                given["calculations"] = [statement.calculation]
            said.append(given)
        return use(("judge_units", {"verdicts": said}))

    return answer


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize("verdict", ["", "supported", "reasoning", "contradicted"])
async def test_a_judge_that_fails_its_trial_supports_nothing(
    tmp_path: Path, tried: Wires, verdict: str
) -> None:
    trials = list[int]()
    with tried() as wire:
        wire.script.update(verifier=judge(verdict), writer=lambda _: say(TEXT))
        for _ in range(2):
            state = await wire.ask()
            assert state.report and state.report.audit
            grade = "unsound" if verdict else "reasoning"
            assert state.report.audit.judge_grade == grade
            text = state.messages[-1].text
            assert ("in a test" in text) == bool(verdict)
            assert text.startswith("*Whether the sources support") == bool(verdict)
            assert {unit.shown for unit in state.report.verdicts} == {
                "not_verified" if verdict else "supported"
            }
            assert "*(not verified)*" not in text
            asked = [request for request in wire.models.requests if TRIAL[0].says in request.prompt]
            trials.append(len(asked))
    assert trials == [1, 1]
    offered = [json.dumps(request.json.get("tools", [])) for request in wire.models.requests]
    assert (sum("judge_units" in tools for tools in offered) == 1) == bool(verdict)
    [path] = tmp_path.rglob("models.json")
    [kept] = json.loads(path.read_text("utf-8")).values()
    assert kept["judge_grade"] == grade


async def test_a_judge_that_calculates_nothing_in_its_trial_is_trusted_with_quotations_alone(
    tmp_path: Path, tried: Wires
) -> None:
    with tried() as wire:
        wire.script.update(verifier=judge("", reasons=False), writer=lambda _: say(TEXT))
        state = await wire.ask()
    assert state.report and state.report.audit
    assert state.report.audit.judge_grade == "quotations"
    assert {unit.shown for unit in state.report.verdicts} == {"supported"}
    assert "did not reason soundly" in state.messages[-1].text


async def test_a_figure_that_no_source_states_is_marked_even_if_the_judge_is_not_trusted(
    tried: Wires,
) -> None:
    with tried() as wire:
        wrong = "The Skerry Light was lit for the first time in 1866. [1]"
        wire.script.update(verifier=judge("supported"), writer=lambda _: say(wrong))
        state = await wire.ask()
        assert state.report and {unit.shown for unit in state.report.verdicts} == {"not_verified"}
        assert "in 1866. [1] *(not verified)*" in state.messages[-1].text


async def test_without_a_trusted_judge_figures_of_the_request_and_words_carry_no_mark(
    tried: Wires,
) -> None:
    with tried() as wire:
        own = "For your 66 boats half of the light of 1844 is enough. [1]"
        wire.script.update(verifier=judge("supported"), writer=lambda _: say(own))
        state = await wire.ask("We have 66 boats. When was the Skerry Light lit?")
        assert state.report and {unit.shown for unit in state.report.verdicts} == {"not_verified"}
        assert "*(not verified)*" not in state.messages[-1].text


async def test_a_small_window_is_given_few_statements_at_once(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "profile": ModelProfile(max_input_tokens=20_000),
        "allow_small_window": True,
    }
    run, _ = await report_of(tmp_path, writer=[LINES], researcher=BOTH, verify="check", **settings)
    sizes = [len(units_shown(asked.text)[0]) for asked in run.calls("verifier")]
    assert max(sizes) <= 8
    assert len(sizes) > 2


async def test_it_is_said_how_many_statements_are_checked_and_corrected(tmp_path: Path) -> None:
    text = f"It stands 83 metres tall. [1] {LINES}"
    run, state = await ask(
        tmp_path,
        [text, rewritten("It stands 38 metres tall. [1]")],
        profile=ModelProfile(max_input_tokens=20_000),
        allow_small_window=True,
    )
    total = audited(state).checked
    progress = [each["text"] for each in run.of_type("activity") if each["is_progress"]]
    *checking, correcting = progress
    assert correcting == "Correcting 21 sentences"
    counts = [int(line.split()[1]) for line in checking]
    assert checking == [f"Checking: {number} of {total} statements" for number in counts]
    # They are judged in several calls.
    assert counts[0] == 0 and counts[-1] == total and counts == sorted(set(counts))
    assert len(counts) > 3
    again = [each.model_dump() for each in await run.replayed()]
    shown = [each["text"] for each in again if each.get("is_progress")]
    assert shown == progress


TABLE = "| Year | Keeper | Oil |\n| --- | --- | --- |\n"
ROWS = [f"| {1901 + number} | Moran | {number + 20} t [1] |\n" for number in range(6)]


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("above", "rows", "below"),
    [
        ("It was tall. [1] It was white. [2]", 2, "It was kept. [1]"),
        (" ".join(f"It was seen in {year}. [1]" for year in range(1801, 1807)), 1, ""),
        ("", 6, "It was dark. [2]"),
        ("It burnt oil. [1]", 5, ""),
    ],
)
async def test_a_table_is_judged_at_once_or_each_of_its_rows_below_its_head(
    tmp_path: Path, above: str, rows: int, below: str
) -> None:
    settings: dict[str, Any] = {
        "profile": ModelProfile(max_input_tokens=20_000),
        "allow_small_window": True,
    }
    text = f"{above}\n\n{TABLE}{''.join(ROWS[:rows])}\n{below}".strip()
    run, _ = await report_of(tmp_path, writer=[text], researcher=BOTH, verify="check", **settings)
    head = "Year | Keeper | Oil"
    years = list[str]()
    tables = 0
    for asked in run.calls("verifier"):
        units, _ = units_shown(asked.text)
        # The year is the label of a row.
        labels = [unit for unit in units if unit["says"].isdigit()]
        cells = {unit["says"].partition(",")[0] for unit in units if "," in unit["says"]}
        assert cells == {unit["says"] for unit in labels}
        # A request shows the header once.
        heads = [unit for unit in units if head in (unit["says"], unit.get("in", "")[: len(head)])]
        assert len(heads) == bool(cells)
        years += sorted(cells)
        tables += bool(cells)
    assert len(years) == rows
    assert tables == 1 or rows > 2


@pytest.mark.sweep
@pytest.mark.parametrize("gap", [" ", "\n\n", "\n- ", "\n\n## Later\n\n"])
async def test_a_unit_is_shown_with_the_sentence_before_it_unless_that_was_shown(
    tmp_path: Path, gap: str
) -> None:
    settings: dict[str, Any] = {
        "profile": ModelProfile(max_input_tokens=20_000),
        "allow_small_window": True,
    }
    sentences = [f"In {1801 + number} it was lit. [1]" for number in range(20)]
    text = gap.join(sentences)
    run, _ = await report_of(tmp_path, writer=[text], researcher=BOTH, verify="check", **settings)
    befores = list[str]()
    for asked in run.calls("verifier"):
        units, _ = units_shown(asked.text)
        dated = [unit for unit in units if unit["says"].startswith("In ")]
        for position, unit in enumerate(dated):
            year = int(unit["says"].split()[1])
            if position or year == 1801 or "#" in gap:
                assert "before" not in unit
            else:
                befores.append(unit["before"])
                assert unit["before"].endswith(f"In {year - 1} it was lit. [1]")
    assert bool(befores) == ("#" not in gap)


async def test_more_units_are_judged_at_once_if_some_need_no_proof(tmp_path: Path) -> None:
    dated = " ".join(f"In {1801 + number} it was lit. [1]" for number in range(10))
    headings = "\n\n".join(
        f"#### Part {chr(97 + number) * 3}\n\nSo it was." for number in range(10)
    )
    profile = ModelProfile(max_input_tokens=100_000, max_output_tokens=1700)
    sizes = list[int]()
    for text in (f"{dated}\n\n{headings}", dated.replace("lit.", "lit at last.") + dated):
        run, _ = await report_of(
            tmp_path, writer=[text], researcher=BOTH, verify="check", profile=profile
        )
        sizes.append(len([asked for asked in run.calls("verifier") if "judge" in asked.text]))
    assert sizes[0] < sizes[1]


async def test_a_sentence_is_shown_around_its_clauses_if_they_leave_out_a_part_of_it_or_cut_a_phrase(
    tmp_path: Path,
) -> None:
    whole = "It was lit in 1844 [1], and Ada Moran kept it until 1932 [2]."
    row = "| 1901 | Moran | 20 t [1] |"
    remark = "It was tall (the tower stood 30 metres above the rocks [2]) and white at sea [1]."
    cut = "It burnt 20 t of oil at the Skerry [1] and Anvil [2] lights each."
    text = f"{whole} {remark} {cut}\n\n{TABLE}{row}\n{row.replace('1901', '1902')}\n"
    run, _ = await report_of(tmp_path, writer=[text], researcher=BOTH, verify="check")
    units, _ = units_shown(run.calls("verifier")[-1].text)
    assert [unit["says"] for unit in units][:2] == [
        "It was lit in 1844",
        "and Ada Moran kept it until 1932.",
    ]
    assert [unit["in"] for unit in units if "in" in unit] == [remark, cut]


async def test_a_model_that_cannot_fill_in_the_form_is_given_fewer_statements(
    tmp_path: Path,
) -> None:
    def overwhelmed(messages: list[Any], _: Any) -> Any:
        text = messages[-1].text if '{"knowledge"' in messages[-1].text else messages[1].text
        return (
            by_figures(text)
            if len(units_shown(text)[0]) <= 8
            else calls(call("judge_units", verdicts="all"))
        )

    model = ScriptedChatModel(replies={"": overwhelmed}, profile=PROFILE)
    _, state = await report_of(
        tmp_path, writer=[LINES], researcher=BOTH, verify="check", verifier=model
    )
    assert state.report and {unit.shown for unit in state.report.verdicts} == {"marked"}
    assert (audited(state).marked, audited(state).not_verified) == (20, 0)
