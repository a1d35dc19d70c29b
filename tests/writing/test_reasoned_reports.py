"""A report that advises and calculates for its reader is checked without false marks, and its wrong
figures are found."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lxml.html
import pytest
from kit.files import FixedClock
from kit.models import ScriptedChatModel, call, calls, units_shown
from kit.reports import audited, finished, rewritten, standing, tree
from kit.reports import words as words_of
from kit.runs import REPORT, lab, search, written
from langchain_core.language_models import ModelProfile

from deep_research import Context, SourceDocument, check_report
from deep_research.app.output import run_json
from deep_research.app.words import ReportTrust
from deep_research.core.evidence.citations.labels import labels
from deep_research.core.evidence.citations.rendering import warning_above
from deep_research.core.records.report import Audit, Report, UnitVerdict
from deep_research.core.records.research import Calculation, CalculationInput
from deep_research.core.records.sources import Source
from deep_research.core.settings.limits import Limits
from deep_research.core.writing._trial import QUOTATIONS_TRIAL, REASONING_TRIAL

PROFILE = ModelProfile(max_input_tokens=100_000)
MARK = " *(not verified)*"
REQUEST = "We own 900 homes and may spend 2 million euros a year. Should we order?"
PRICE = "A heat pump costs 8,400 euros a home."
DISCOUNT = "Orders of 500 homes or more get 4 % off."
WARRANTY = "The warranty runs for ten years."
FITTED_2023, FITTED_2024 = "| 2023 | 957 |", "| 2024 | 1,090 |"
CONTENT = "Of 640 tenants asked, 544 were content."
LED = "Mr Orr led the survey in March 2024."
PILOT = "He wants a pilot first."
TEXTS = {
    1: f"# Offer of Hallam\n\n{PRICE} {DISCOUNT} {WARRANTY}\n\n| Year | Homes fitted |\n|---|---|\n"
    f"{FITTED_2023}\n{FITTED_2024}\n",
    2: f"# Survey of the tenants\n\n{CONTENT} {LED} {PILOT}\n",
}
SOURCES = {
    1: SourceDocument("Offer of Hallam", TEXTS[1]),
    2: SourceDocument("Survey of the tenants", TEXTS[2]),
}
Said = Mapping[str, Any]
"""What a judge hands in on a statement, without the statement's number."""
Verdicts = Mapping[str, Said | Sequence[Said]]
"""Verdicts of a judge, or those of its first and later looks, by a part of the statement."""


def said(verdict: str, words: str = "", *calculations: str, **fields: Any) -> Said:
    return {"verdict": verdict, "words": words, "calculations": [*calculations], **fields}


def supported(words: str, *calculations: str, **fields: Any) -> Said:
    return said("supported", words, *calculations, **fields)


ADVICE, NOT_FOUND = said("advice"), said("not_found")


def judge(verdicts: Verdicts, grade: str = "reasoning") -> ScriptedChatModel:
    """A judge with these verdicts, and `reasoning` on any other statement.

    In its trial it answers as a model of this grade.
    """
    looks = Counter[str]()

    def verdict_on(statement: str) -> Said:
        for part, given in verdicts.items():
            if part not in statement:
                continue
            if isinstance(given, Mapping):
                return given
            look = looks[statement]
            looks[statement] += 1
            return given[min(look, len(given) - 1)]
        return said("reasoning")

    def answer(messages: list[Any], _: Any) -> Any:
        units, passages = units_shown(messages[-1].text)
        is_trial = units[0]["says"] == QUOTATIONS_TRIAL[0].says
        if is_trial and grade == "silent":
            return "I cannot say."
        handed_in = list[dict[str, Any]]()
        for number, unit in enumerate(units):
            given = verdict_on(unit["says"])
            if is_trial:
                statement = [*QUOTATIONS_TRIAL, *REASONING_TRIAL][number]
                given = said(statement.verdicts[0], "\n".join(passages.values()))
                if grade == "reasoning" and statement.calculation:
                    given = {**given, "calculations": [statement.calculation]}
                if grade == "unsound":
                    given = supported("")
            handed_in.append({"unit": unit["unit"], **given})
        return calls(call("judge_units", verdicts=handed_in))

    return ScriptedChatModel(replies={"": answer}, profile=PROFILE)


class Checked(NamedTuple):
    """A checked report and the models that were asked."""

    report: Report
    verifier: ScriptedChatModel
    writer: ScriptedChatModel

    def verdict(self, part: str) -> UnitVerdict:
        """The verdict on the statement that has these words."""
        return next(verdict for verdict in self.report.verdicts if part in verdict.text)

    @property
    def audit(self) -> Audit:
        assert self.report.audit
        return self.report.audit

    @property
    def json(self) -> dict[str, Any]:
        """The run of this report as JSON."""
        exported: dict[str, Any] = json.loads(
            run_json(standing(self.report, [*self.sources.values()]))
        )
        return exported

    @property
    def page(self) -> lxml.html.HtmlElement:
        """The report as an HTML page."""
        return tree(finished(report=self.report, cited=self.report.cited(self.sources)))

    @property
    def sources(self) -> dict[str, Source]:
        """The sources that it cites, by key."""
        sources = dict[str, Source]()
        for number, key in self.report.keys.items():
            title = SOURCES[number].title
            sources[key] = Source(key=key, title=title, location=key, address=key, kind="document")
        return sources


async def checked(
    text: str,
    verdicts: Verdicts,
    *rewrites: Any,
    request: str = REQUEST,
    sources: Mapping[int, SourceDocument] = SOURCES,
    grade: str = "reasoning",
    **settings: Any,
) -> Checked:
    """Check a report, and have its faulty sentences rewritten if there are `rewrites`."""
    verifier = judge(verdicts, grade)
    writer = ScriptedChatModel(replies=[*rewrites], profile=PROFILE)
    usual: dict[str, Any] = {
        "models": {"verifier": verifier, "writer": writer},
        "verify": "repair" if rewrites else "check",
        "trust_verifier": True,
    }
    context = Context(**{**usual, **settings})
    report = await check_report(text, sources, context, request)
    return Checked(report, verifier, writer)


@pytest.mark.parametrize(
    ("statement", "said_of_it", "decided_by"),
    [
        (
            "For your 900 homes the pumps cost 7.56 million euros [1].",
            supported(PRICE, "900 * 8,400 = 7,560,000"),
            "calculation",
        ),
        (
            "Your 2 million euros a year pay for 238 homes [1].",
            supported(PRICE, "2,000,000 / 8,400 = 238"),
            "calculation",
        ),
        (
            "With 4 % off, all 900 cost 7.26 million euros [1].",
            supported(f"{PRICE}\n{DISCOUNT}", "900 * 8,400 * 0.96 = 7,257,600"),
            "calculation",
        ),
        ("You own 900 homes.", supported("We own 900 homes"), "passages"),
    ],
)
async def test_the_figures_of_the_request_are_premises_of_the_report(
    statement: str, said_of_it: Said, decided_by: str
) -> None:
    judged = await checked(statement, {statement[:12]: said_of_it})
    [verdict] = judged.report.verdicts
    assert (verdict.shown, verdict.decided_by) == ("supported", decided_by)
    assert judged.report.text == statement
    without = await checked(statement, {statement[:12]: said_of_it}, request="")
    [verdict] = without.report.verdicts
    assert verdict.shown == "not_verified"


LEASE = "The lease runs until 31 December 2032."
NOTICE = "It can be ended at the end of any year with nine months' notice."


@pytest.mark.parametrize(
    ("statement", "said_of_it", "shown"),
    [
        ("For the board, 6 May 2031.", said("reasoning"), "reasoning"),
        ("For the board, 7 May 2031.", said("reasoning"), "not_verified"),
        (
            "Unless notice was given by 31 March 2031, it runs on [1].",
            supported(f"{LEASE}\n{NOTICE}", "31 December 2031 - 9 months = 31 March 2031"),
            "supported",
        ),
    ],
)
async def test_a_report_may_state_its_day_and_what_follows_from_the_current_year(
    statement: str, said_of_it: Said, shown: str
) -> None:
    lease = {1: SourceDocument("The lease", f"{LEASE}\n{NOTICE}")}
    judged = await checked(
        statement, {statement[:12]: said_of_it}, sources=lease, clock=FixedClock()
    )
    assert [verdict.shown for verdict in judged.report.verdicts] == [shown]


async def test_a_report_whose_judge_was_gone_counts_as_not_judged() -> None:
    gone = ScriptedChatModel(replies=[ConnectionError("the server is gone")] * 9, profile=PROFILE)
    statement = "Each pump is priced at 8,400 euros a home [1]."
    judged = await checked(statement, {}, models={"verifier": gone, "writer": gone})
    trust = ReportTrust.of(judged.report, ())
    assert trust.line == "0 of 1 cited statement supported · 1 not judged"
    assert not judged.audit.was_judged and "cannot be reached" in trust.failures[0]


async def test_each_passage_that_was_quoted_is_shown_the_most_similar_one_first() -> None:
    first, second = "We put the chance of losing at 25 %.", "The memo is dated 3 March 2026."
    filler = "The file has further letters on the matter.\n\n" * 40
    memo = SourceDocument("Memo", f"# Memo\n\n{first}\n\n{filler}{second}")
    statement = "On 3 March 2026 the chance of losing was put at 25 % [1]."
    said_of_it = supported(f"{first}\n{second}")
    judged = await checked(statement, {"chance of losing": said_of_it}, sources={1: memo})
    [claim] = judged.report.claims
    # The date shares two numbers with the statement, the chance one.
    assert [passage.quote for passage in claim.passages] == [second, first]
    assert {passage.verdict for passage in claim.passages} == {"supported"}


async def test_a_calculation_of_the_judge_that_repeats_a_cited_one_is_not_listed_again() -> None:
    cited = Calculation(
        number=1,
        name="Price",
        formula="900 * 0.0084",
        inputs=(
            CalculationInput(value=900, origin="request"),
            CalculationInput(value=0.0084, origin="supposed"),
        ),
        value=7.56,
        result="7.56 million €",
        unit="million €",
    )
    own = cited.model_copy(update={"number": 0, "value": 7_560_000.0, "formula": "900 * 8,400"})
    other = cited.model_copy(update={"number": 0, "value": 238.1, "formula": "2,000,000 / 8,400"})
    count = own.model_copy(update={"inputs": (), "formula": "Names: A, B"})
    verdict = UnitVerdict(
        text="It costs that.", shown="supported", calculations=(own, other, count)
    )
    report = Report(
        text="It costs that.",
        sources=(),
        numbers=(),
        verdicts=(verdict,),
        calculations=(cited,),
    )
    assert report.calculations_of_judge == {"Price": [other, count]}


ADVISED = (
    "Start with a pilot of 40 to 60 homes.",
    "Ask Hallam for the contract before 15 March [1].",
    "Fit 25 pumps in eight weeks, then ask the tenants again [2].",
    "Keep 10 % of the price back until the second winter.",
)


async def test_advice_with_numbers_of_its_own_is_never_marked_in_a_run(tmp_path: Path) -> None:
    advice = {text.partition(" [")[0].rstrip("."): ADVICE for text in ADVISED}
    table = "| Step | Homes |\n|---|---|\n| Pilot | 50 |"
    text = f"{' '.join(ADVISED)}\n\n{table}"
    run = lab(
        tmp_path,
        researcher=[search("Hallam heat pump", "tenants survey"), REPORT, f"{PRICE} [1] {LED} [2]"],
        writer=[text],
        verifier=judge({**advice, "Pilot, Homes": ADVICE}),
    )
    run.folder = written(tmp_path / "homes", {"offer_md": TEXTS[1], "survey_md": TEXTS[2]})
    state = await run.ask(REQUEST)
    assert state.report and state.report.text == text
    audit = audited(state)
    assert (audit.marked, audit.not_verified, audit.corrected) == (0, 0, 0)
    assert {verdict.shown for verdict in state.report.verdicts} == {"reasoning"}
    assert len(run.calls("writer")) == 1


@pytest.mark.parametrize(
    ("wrong", "right", "words"),
    [
        (
            "As the warranty runs for five years, order 50 pumps at first [1].",
            "As the warranty runs for ten years, order 50 pumps at first [1].",
            WARRANTY,
        ),
        (
            "Since 460 tenants were asked, ask 50 more by May [2].",
            "Since 640 tenants were asked, ask 50 more by May [2].",
            CONTENT,
        ),
        (
            "With your 800 homes, begin with 40 to 60.",
            "With your 900 homes, begin with 40 to 60.",
            "We own 900 homes",
        ),
        (
            "As Mr Orr wants no pilot, order for all homes at once [2].",
            "As Mr Orr wants a pilot, begin with 50 homes [2].",
            PILOT,
        ),
    ],
)
async def test_advice_that_rests_on_something_false_is_corrected_or_marked(
    wrong: str, right: str, words: str
) -> None:
    plain = right.partition(" [")[0].rstrip(".")
    verdicts = {
        wrong.partition(" [")[0].rstrip("."): said("contradicted", words, right=f"{plain}."),
        plain: ADVICE,
    }
    marked = await checked(wrong, verdicts)
    assert (marked.report.text, marked.audit.marked) == (wrong + MARK, 1)
    corrected = await checked(wrong, verdicts, rewritten(right))
    assert (corrected.report.text, corrected.audit.corrected) == (right, 1)


@pytest.mark.parametrize("order", [1, -1])
async def test_statements_that_could_prove_only_each_other_stay_unproved(order: int) -> None:
    circle = ["The plan needs 750 homes.", "Ready are 750 homes in all."]
    chain = ["In 2024 Hallam fitted 1,090 homes [1].", "Those 1,090 are more than you own."]
    verdicts = {
        "The plan": supported(circle[1]),
        "Ready": supported(circle[0]),
        "In 2024": supported(FITTED_2024),
        "Those": supported("In 2024 Hallam fitted 1,090 homes."),
    }
    judged = await checked(" ".join([*circle, *chain][::order]), verdicts)
    shown = {verdict.text: verdict.shown for verdict in judged.report.verdicts}
    assert [shown[text] for text in circle] == ["not_verified"] * 2
    assert shown["Those 1,090 are more than you own."] == "supported"


@pytest.mark.parametrize("order", [1, -1])
async def test_the_result_of_one_statement_serves_the_calculation_of_another(order: int) -> None:
    statements = [
        "At list price your 900 homes cost 7.56 million euros [1].",
        "Less 4 %, they cost 7.26 million euros [1].",
        "That is 302,400 euros less [1].",
        "That makes 3.6 years of your budget.",
    ]
    verdicts = {
        "At list": supported(PRICE, "900 * 8400 = 7,560,000"),
        "Less 4": supported(DISCOUNT, "7,560,000 * 0.96 = 7,257,600"),
        "302,400": supported(DISCOUNT, "7,560,000 - 7,257,600 = 302,400"),
        "3.6": supported("may spend 2 million euros a year", "7,257,600 / 2,000,000 = 3.6"),
    }
    judged = await checked(" ".join(statements[::order]), verdicts)
    assert {verdict.shown for verdict in judged.report.verdicts} == {"supported"}
    alone = await checked(statements[1], verdicts)
    assert alone.verdict("Less").shown == "not_verified"


@pytest.mark.parametrize("order", [1, -1])
async def test_what_follows_from_a_supposition_proves_no_statement_of_fact(order: int) -> None:
    statements = [
        "If only 340 homes order, they pay 2,856,000 euros at list price [1].",
        "In all you pay 2,856,000 euros.",
        "That is 1.43 years of your budget.",
    ]
    verdicts = {
        "If only": supported(PRICE, "340 * 8400 = 2,856,000", supposed=["340"]),
        "In all": supported("may spend 2 million euros a year"),
        "That is": supported("may spend 2 million euros a year", "2,856,000 / 2,000,000 = 1.43"),
    }
    judged = await checked(" ".join(statements[::order]), verdicts)
    shown = [judged.verdict(words).shown for words in verdicts]
    assert shown == ["supported", "not_verified", "not_verified"]


ANNEX = "The annex of Hallam names seventeen exceptions for cellars."
DEEP = "| Cellars | 0.9 | 17 |"


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(
    ("words", "calculations", "number", "missing"),
    [
        (ANNEX, ["0.9 * 17 = 957"], 1, "957 euros: this follows from nothing given."),
        (ANNEX, ["900 + 57 = 957"], 2, "these are no such numbers: 57 in `900 + 57 = 957`"),
        (DEEP, [], 1, "write the calculation from numbers in the passages, the request"),
        (f"{ANNEX}\nIt says 957 euros.", [], 2, "957 euros: this follows from nothing given."),
    ],
)
async def test_the_second_look_shows_what_was_quoted_and_says_in_words_what_is_missing(
    words: str, calculations: list[str], number: int, missing: str
) -> None:
    filler = "\n\n".join(
        f"In {year} the price of a heat pump rose again, said Hallam." * 8
        for year in range(1900, 1980)
    )
    quoted = words.partition("\n")[0]
    texts = {1: filler, 2: filler.replace("price", "cost")}
    texts[number] = f"{filler}\n\n{quoted}\n\n{filler}"
    statement = "Of the price of a heat pump, Hallam keeps 957 euros [1][2]."
    sources = {key: SourceDocument(f"Offer {key}", text) for key, text in texts.items()}
    verdicts = {"Of the price": supported(words, *calculations)}
    judged = await checked(statement, verdicts, sources=sources)
    first, second = (asked.messages[-1].text for asked in judged.verifier.calls)
    assert quoted not in first and quoted in second
    [unit], _ = units_shown(second)
    assert missing in unit["not_proved"]
    assert judged.verdict("Of the price").shown == "not_verified"


@pytest.mark.parametrize(
    ("grade", "settings", "on_words"),
    [
        ("quotations", {"trust_verifier": False}, "not_verified"),
        ("reasoning", {"trust_verifier": False}, "supported"),
        ("quotations", {"trust_verifier": True}, "supported"),
    ],
)
@pytest.mark.parametrize(
    ("statement", "words", "is_figure"),
    [
        ("Mr Orr favours a trial at first [2].", f"{PILOT}\nHe said so twice.", False),
        ("Mr Orr led it in April [2].", LED, False),
        ("Half of the tenants were content [2].", CONTENT, False),
        ("Mr Orr asked 700 tenants [2].", CONTENT, True),
        ("Only 5 % were not content [2].", CONTENT, True),
    ],
)
async def test_only_a_judge_that_reasons_has_the_last_word_on_words_and_none_has_it_on_figures(
    tmp_path: Path,
    statement: str,
    words: str,
    is_figure: bool,
    grade: str,
    settings: dict[str, Any],
    on_words: str,
) -> None:
    judged = await checked(
        statement, {statement[:12]: supported(words)}, grade=grade, data_dir=tmp_path, **settings
    )
    [verdict] = judged.report.verdicts
    assert verdict.shown == ("not_verified" if is_figure else on_words)
    assert (MARK in judged.report.text) == (verdict.shown == "not_verified")
    if verdict.shown == "supported":
        assert verdict.decided_by == "judge"


@pytest.mark.parametrize(("year", "looks"), [(2024, 1), (2023, 2)])
async def test_a_table_head_needs_no_words_if_the_titles_of_its_sources_have_its_years(
    year: int, looks: int
) -> None:
    sources = {
        1: SourceDocument("Customers 2024", "Hearthline pays 31 % of the revenue."),
        2: SourceDocument("Customers 2026", "Hearthline pays 19 % of the revenue."),
    }
    text = f"| Customer | {year}, % [1] | 2026, % [2] |\n|---|---|---|\n| Hearthline | 31 [1] | 19 [2] |"
    verdicts = {
        "Customer |": said("reasoning"),
        ": 31": supported("Hearthline pays 31 % of the revenue."),
        ": 19": supported("Hearthline pays 19 % of the revenue."),
    }
    judged = await checked(text, verdicts, sources=sources)
    asked = [
        call for call in judged.verifier.calls if f"Customer | {year}" in call.messages[-1].text
    ]
    assert len(asked) == looks


@pytest.mark.parametrize("first", [supported(CONTENT), said("reasoning", CONTENT)])
async def test_a_clause_that_the_judge_supported_at_first_is_never_taken_out(first: Said) -> None:
    text = "Mr Orr led it in March 2024 [2], and 85 % were content [2]."
    verdicts: Verdicts = {"Mr Orr": supported(LED), "85 %": [first, NOT_FOUND]}
    cut = rewritten("Mr Orr led it in March 2024 [2].")
    judged = await checked(text, verdicts, cut)
    assert "and 85 % were content" in judged.report.text
    assert not judged.writer.calls
    never_supported = await checked(text, {**verdicts, "85 %": NOT_FOUND}, cut)
    assert never_supported.report.text == "Mr Orr led it in March 2024 [2]."


@pytest.mark.parametrize(
    ("wrong", "right", "words", "named"),
    [
        ("Hallam fitted 975 homes in 2023.", "Hallam fitted 957 homes in 2023.", FITTED_2023, "957"),
        ("- The warranty runs for two years.", "- The warranty runs for ten years.", WARRANTY, "ten years"),
        ("Mr Ord led the survey.", "Mr Orr led the survey.", LED, "Orr"),
        ("Of 460 tenants, 544 were content.", "Of 640 tenants, 544 were content.", CONTENT, "640"),
    ],
)  # fmt: skip
async def test_a_corrected_statement_without_a_citation_gets_its_source(
    wrong: str, right: str, words: str, named: str
) -> None:
    number = 1 if words in TEXTS[1] else 2
    part = wrong.lstrip("- ")
    verdicts = {part: said("contradicted", words, right=named), right[2:]: supported(words)}
    judged = await checked(wrong, verdicts, rewritten(right))
    assert judged.report.text == f"{right} [{number}]"
    assert judged.report.keys == {number: str(number)}


@pytest.mark.parametrize(
    ("text", "words", "result"),
    [
        ("Mr Orr led the survey [1][2].", LED, "Mr Orr led the survey [2]."),
        ("He led the tenants' survey [2, 1].", LED, "He led the tenants' survey [2]."),
        ("Mr Orr wants a pilot [2] [1].", f"{LED}\n{PILOT}", "Mr Orr wants a pilot [2]."),
        # The other source has a word or a number of the statement.
        ("Mr Orr led the survey of Hallam [1][2].", LED, ""),
        ("Mr Orr led the survey of the 957 [1][2].", f"{LED}\n{FITTED_2023}", ""),
        # A row's label also cites for its cells.
        ("| Survey | Led by |\n|---|---|\n| Tenants [1][2] | Mr Orr |", CONTENT, ""),
    ],
)
async def test_a_citation_is_surplus_only_if_its_source_has_no_word_of_the_statement(
    text: str, words: str, result: str
) -> None:
    verdicts = {part: supported(words) for part in ("led the", "Mr Orr", "Tenants")}
    judged = await checked(text, verdicts, rewritten(""))
    assert judged.report.text == (result or text)
    assert (judged.audit.corrected == 1) == bool(result)


async def test_each_correction_is_listed_with_before_after_and_reason_and_counted_once() -> None:
    table = "| Survey | Asked |\n|---|---|\n| Tenants [2] | {} |"
    wrong = [
        "A heat pump costs 8,600 euros a home [1].",
        "Mr Ord led it [2].",
        "The price is 4 % of it [1].",
    ]
    right = ["A heat pump costs 8,400 euros a home [1].", "Mr Orr led it [2].", ""]
    draft = "\n\n".join([*wrong, table.format(460)])
    verdicts = {
        "8,600": said("contradicted", PRICE, right="8,400"),
        "Mr Ord": said("contradicted", LED, right="Orr"),
        "of it": NOT_FOUND,
        "460": said("contradicted", CONTENT, right="640"),
        "640": supported(CONTENT),
        "8,400": supported(PRICE),
        "Mr Orr": supported(LED),
        "Tenants": supported(CONTENT),
    }
    judged = await checked(draft, verdicts, rewritten(*right, "| Tenants [2] | 640 |"))
    assert judged.report.text == "\n\n".join(
        [right[0], right[1], wrong[2] + MARK, table.format(640)]
    )
    corrected = [verdict for verdict in judged.report.verdicts if verdict.shown == "corrected"]
    assert [(verdict.text, verdict.after, verdict.reason) for verdict in corrected] == [
        ("A heat pump costs 8,600 euros a home.", "A heat pump costs 8,400 euros a home.", f"the source says: {PRICE}; it should say: 8,400"),
        ("Mr Ord led it.", "Mr Orr led it.", f"the source says: {LED}; it should say: Orr"),
        ("Tenants, Asked: 460", "Tenants, Asked: 640", f"the source says: {CONTENT}; it should say: 640"),
    ]  # fmt: skip
    listed = [verdict for verdict in judged.json["verdicts"] if verdict["shown"] == "corrected"]
    assert [(entry["text"], entry["after"], entry["reason"]) for entry in listed] == [
        (verdict.text, verdict.after, verdict.reason) for verdict in corrected
    ]
    assert judged.audit.corrected == judged.json["audit"]["corrected"] == len(corrected) == 3
    page = words_of(judged.page)
    assert f"{labels('en').corrected}: 3" in page
    for verdict in corrected:
        assert f"{verdict.text} → {verdict.after} {verdict.reason}" in page


async def test_calculations_are_records_in_json_and_in_the_page() -> None:
    statements = (
        "For your 900 homes the pumps cost 7.56 million euros [1].",
        "In 2024 Hallam fitted 14 % more homes [1].",
    )
    verdicts = {
        "900 homes": supported(PRICE, "900 * 8,400 = 7,560,000"),
        "14 %": supported(
            f"{FITTED_2023}\n{FITTED_2024}", "1,090 - 957 = 133", "133 / 957 = 13.9 %"
        ),
    }
    judged = await checked(" ".join(statements), verdicts)
    first, second = judged.json["verdicts"]
    assert [entry["decided_by"] for entry in (first, second)] == ["calculation"] * 2
    kept = {"words": "", "dates": "", "calculation": 0}
    assert first["calculations"] == [
        {
            "number": 0,
            "name": statements[0].replace(" [1]", ""),
            "formula": "900 * 8,400",
            "inputs": [
                {"value": 900, "unit": "", "origin": "request", "source": "", **kept},
                {"value": 8400, "unit": "€", "origin": "source", "source": "1", **kept},
            ],
            "value": 7_560_000,
            "result": "7,560,000",
            "unit": "",
            "is_rounded": True,
            "found": "",
        }
    ]
    difference, change = second["calculations"]
    assert (difference["formula"], difference["value"]) == ("1,090 - 957", 133)
    assert [given["origin"] for given in change["inputs"]] == ["calculation", "source"]
    assert (change["result"], change["is_rounded"]) == ("13.9 %", True)
    page = words_of(judged.page)
    for formula in ("900 * 8,400 = 7,560,000", "1,090 - 957 = 133", "133 / 957 = 13.9 %"):
        assert formula in page
    assert f"900 ({labels('en').your_request})" in page


@pytest.mark.parametrize("later", [supported(PILOT), NOT_FOUND, said("contradicted", LED)])
@pytest.mark.parametrize("gap", [" ", "\n\n"])
async def test_a_correction_that_takes_its_antecedent_from_the_next_sentence_is_refused(
    later: Said, gap: str
) -> None:
    wrong, following = "Mr Ord led the survey [2].", "He wants it tried first [2]."
    right = "The survey took place in March 2024 [2]."
    verdicts: Verdicts = {
        "Mr Ord": said("contradicted", LED),
        "took place": supported(LED),
        "He wants": [supported(PILOT), later],
    }
    judged = await checked(f"{wrong}{gap}{following}", verdicts, rewritten(right))
    [corrected, again], _passages = units_shown(judged.verifier.calls[-1].text)
    # The corrected sentence is shown before it, not the wrong one.
    assert right.startswith(corrected["says"].rstrip("."))
    assert again["says"] == "He wants it tried first." and "before" not in again
    is_kept = later == supported(PILOT)
    assert judged.report.text == (
        f"{right}{gap}{following}" if is_kept else f"{wrong}{MARK}{gap}{following}"
    )
    assert judged.verdict("He wants").shown == "supported"


@pytest.mark.parametrize("grade", ["unsound", "silent"])
@pytest.mark.parametrize(
    ("statement", "is_marked"),
    [
        ("Mr Orr favours the heat pumps of Hallam [2].", False),
        ("Hallam fitted 957 homes [1].", False),
        ("Mr Orr said that he “wants a pilot first” [2].", False),
        ("Together that makes 950 homes more.", True),
        ("Hallam fitted 975 homes [1].", True),
        ("Mr Orr said that he “wants no pilot at all” [2].", True),
    ],
)
async def test_after_a_failed_trial_only_figures_and_quotations_in_no_source_are_marked(
    tmp_path: Path, statement: str, is_marked: bool, grade: str
) -> None:
    judged = await checked(
        statement, {}, rewritten(""), grade=grade, trust_verifier=False, data_dir=tmp_path
    )
    assert (MARK in judged.report.text) == is_marked
    assert judged.audit.judge_grade == "unsound"
    warning = warning_above(judged.report, labels("en"), was_researched=True)
    assert warning == labels("en").not_judged
    assert warning in words_of(judged.page)
    assert not judged.writer.calls


@pytest.mark.parametrize(
    "settings",
    [{"limits": Limits(max_opinions=0)}, {"models": "extractive"}],
    ids=["no calls left, as in a quick run", "no model"],
)
async def test_without_a_judge_statements_are_not_judged_and_not_marked(
    settings: dict[str, Any],
) -> None:
    judged = await checked("Hallam fitted 957 homes [1]. It is cheap [1].", {}, **settings)
    assert MARK not in judged.report.text
    line = ReportTrust.of_audit(judged.audit).line
    assert line == "0 of 2 cited statements supported · 2 not judged"
    shown = words_of(judged.page)
    assert f"{labels('en').unjudged}: 2" in shown
    assert labels("en").left_open not in shown


@pytest.mark.parametrize(
    "verdict", [said("contradicted", LED), NOT_FOUND, supported(""), supported(CONTENT)]
)
@pytest.mark.parametrize("right", [0, 1])
async def test_marks_are_printed_however_many_statements_are_not_verified(
    verdict: Said, right: int
) -> None:
    wrong = [f"Of the tenants, {number} were not asked [2]." for number in (11, 12, 13)]
    statements = ["Mr Orr led it in March 2024 [2]."] * right + wrong
    judged = await checked(" ".join(statements), {"Of the": verdict, "Mr Orr": supported(LED)})
    marked = [text + MARK if text in wrong else text for text in statements]
    assert judged.report.text == " ".join(marked)
    assert (judged.audit.marked, judged.audit.supported) == (3, right)
