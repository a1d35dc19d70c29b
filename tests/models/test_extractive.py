"""The extractive model answers in each role from `Facts` alone, by quoting units of the documents."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import fill
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from kit import models as handed_in
from kit.runs import ask
from langchain_core.messages import AIMessage, HumanMessage

from deep_research.core.evidence.text.words import sought_words, tokens
from deep_research.core.models.extractive._choosing import Chooser
from deep_research.core.models.extractive._parts import Part
from deep_research.core.models.extractive._roles import laid_out, quotes_in, with_quotes
from deep_research.core.models.extractive._units import QuotableUnit, quotable_units
from deep_research.core.models.extractive.chat import ExtractiveChatModel
from deep_research.core.models.request import Facts, ShownDocument, ShownLearning, TaskFinding
from deep_research.core.records import tool_names
from deep_research.core.settings.context import Role

QUESTION = "Where was the captain of the Silver Heron born?"
SHIP = ShownDocument(
    1, "Silver Heron", "docs:ship.md", texts=("The Silver Heron had one captain, Mara Ellingsen.",)
)
CAPTAIN = ShownDocument(
    2, "Mara Ellingsen", "docs:captain.md", texts=("Mara Ellingsen was born in Tromsø.",)
)
CUT_OFF = ShownDocument(
    1, "Silver Heron", "https://x.org/heron", texts=("The captain was born in …",)
)
SEARCHES = ("internal_search", "web_search", "open_url")

TEXT = st.text("aB ü?.:\n1)[]", max_size=30) | st.just(QUESTION)
DOCUMENTS = st.lists(
    st.builds(ShownDocument, st.integers(1, 5), TEXT, texts=st.tuples(TEXT)), max_size=3
).map(tuple)
FACTS = st.builds(
    Facts,
    request=TEXT,
    earlier=TEXT,
    language=st.sampled_from(["", "English", "German", "Klingon"]),
    task=TEXT,
    documents=DOCUMENTS,
    findings=st.lists(st.builds(TaskFinding, TEXT, TEXT), max_size=3).map(tuple),
    learnings=st.lists(
        st.builds(ShownLearning, TEXT, st.none() | st.integers(1, 5)), max_size=3
    ).map(tuple),
    most_steps=st.integers(1, 4),
)


def turn(role: Role, facts: Facts, *tools: Any, said: str = "") -> AIMessage:
    """The model's answer to these facts; tools are given by name or as schemas."""
    named = [{"title": tool, "type": "object"} if isinstance(tool, str) else tool for tool in tools]
    model: Any = ExtractiveChatModel(role=role)
    reply: AIMessage = (model.bind_tools(named) if named else model).invoke(
        [HumanMessage(said)], facts=facts
    )
    return reply


def tasks(facts: Facts) -> list[str]:
    calls = turn("orchestrator", facts, "research_agent", "generate_report").tool_calls
    return [call["args"]["task"] for call in calls if call["name"] == "research_agent"]


@pytest.mark.parametrize(
    ("request_text", "is_specific"),
    [
        *(
            (text, True)
            for text in (QUESTION, "法国的首都是哪里？", "Tell me about photosynthesis", "C++")
        ),
        *((text, False) for text in ("What about it?", "help", "tell me more", "?", "")),
    ],
)
def test_a_request_without_a_subject_is_answered_by_a_question(
    request_text: str, is_specific: bool
) -> None:
    reply = turn("clarifier", Facts(request=request_text), "generate_plan")
    assert [call["name"] for call in reply.tool_calls] == ["generate_plan"] * is_specific
    assert ("?" in reply.text) is not is_specific


def test_a_plan_keeps_to_the_maximum_of_steps_and_covers_all_parts() -> None:
    animals = ("lion", "zebra", "giraffe", "hippo", "rhino")
    points = "\n".join(
        f"{number}. the {animal} population" for number, animal in enumerate(animals, 1)
    )
    text = turn("planner", Facts(request=f"Report on Kenya:\n{points}", most_steps=2)).text
    title, _, steps = text.partition("\n\n")
    assert title == "# Kenya"
    assert len(steps.splitlines()) <= 2
    assert all(animal in text for animal in animals)


def test_tasks_are_assigned_three_at_a_time_until_all_have_findings() -> None:
    facts = Facts(
        request="On Osk:\n1. its kiln\n2. its wharf\n3. its river\n4. its school", most_steps=6
    )
    first = tasks(facts)
    assert len(first) == 3
    found = tuple(TaskFinding(task, "It is red. [1]") for task in first)
    assert len(last := tasks(facts._replace(findings=found))) == 1
    assert tasks(facts._replace(findings=(*found, TaskFinding(last[0], "")))) == []


def test_a_task_without_results_is_given_up_after_a_few_tries() -> None:
    facts, tried = Facts(request=QUESTION), list[str]()
    while open_tasks := tasks(facts._replace(tried=tuple(tried))):
        tried += open_tasks
        assert len(tried) < 9
    assert tried.count(QUESTION) > 1


def test_the_steps_of_an_edited_plan_become_the_tasks() -> None:
    handed_out = tasks(Facts(request=QUESTION, steps=("the school of Osk", "the wharf of Osk")))
    assert ["school" in handed_out[0], "wharf" in handed_out[1], len(handed_out)] == [True, True, 2]


def test_a_researcher_searches_once_with_each_tool_opens_cut_off_pages_and_then_writes() -> None:
    facts, names = Facts(task=QUESTION), list[str]()
    used: list[tuple[str, tuple[str, ...]]] = []
    while (call := turn("researcher", facts, *SEARCHES, "generate_report").tool_calls[0])[
        "name"
    ] != "generate_report":
        names.append(call["name"])
        used.append((call["name"], tuple(next(iter(call["args"].values())))))
        facts = facts._replace(used=tuple(used), documents=(CUT_OFF,))
        assert len(names) < 9
    assert names[:3] == ["internal_search", "open_url", "web_search"]
    assert (names.count("internal_search"), names.count("open_url")) == (1, 1)
    assert used[1] == ("open_url", (CUT_OFF.address,))


@pytest.mark.parametrize(
    ("request_text", "title"),
    [
        ("Where was Mara Ellingsen born?", "Where was Mara Ellingsen born?"),
        ("Please be brief. Who built the kiln of Osk? Cite sources.", "Who built the kiln of Osk?"),
        ("Write a report on the harbour of Osk: its quay, its crane, its pilots.", "Harbour of Osk"),
        ("Compare the wages of the pilots, the crane drivers and the clerks of the harbour of Osk in 1911.",
         "Wages of the pilots, the crane drivers and the clerks…"),
    ],
)  # fmt: skip
def test_the_title_is_the_subject_of_the_request_in_at_most_ten_words(
    request_text: str, title: str
) -> None:
    facts = Facts(request=request_text, most_steps=6)
    assert turn("planner", facts).text.startswith(f"# {title}\n\n1. ")
    (call,) = turn(
        "planner", facts, handed_in.SCHEMAS[handed_in.FORM_CLASSES[tool_names.MAKE_PLAN]]
    ).tool_calls
    assert call["args"]["title"] == title
    assert len(title.split()) <= 10


def finding(task: str, *documents: ShownDocument) -> str:
    return turn("researcher", Facts(task=task, language="English", documents=documents)).text


def test_what_was_found_is_quoted_even_if_it_does_not_answer() -> None:
    assert finding("Where was the cook of the Silver Heron born?", SHIP) == f"{SHIP.texts[0]} [1]"


def test_a_part_for_which_nothing_was_found_is_named() -> None:
    text = finding("Who painted it? (2/2: Who built the kiln, and who painted it?)")
    assert text == "The documents do not say anything about “Who painted it”."
    found = (
        TaskFinding("Who built the kiln? (1/2)", "Ole built it. [1]"),
        TaskFinding("Who painted it? (2/2)", text),
    )
    report = turn(
        "writer",
        Facts(request="Who built it, and who painted it?", language="English", findings=found),
    ).text
    assert report.index("Ole built it. [1]") < report.index(text)
    assert "do not answer" not in report


def test_a_document_that_a_quote_names_is_quoted_rather_than_an_equal_match() -> None:
    other = ShownDocument(3, "Harbours", texts=("The pilot of the harbour was born in Osk.",))
    text = finding(QUESTION, SHIP, other, CAPTAIN)
    assert "Mara Ellingsen was born in Tromsø. [2]" in text
    assert "born in Osk" not in text


PRICES = [
    ShownDocument(
        1, "Prices 2025", "docs:prices_2025.md", "2025", ("A ticket costs 4 euros in summer.",)
    ),
    ShownDocument(
        2, "Prices 2026", "docs:prices_2026.md", "2026", ("A ticket costs 5 euros in summer.",)
    ),
]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What does a ticket cost in summer?", "5 euros"),
        ("What did a ticket cost in summer in 2025?", "4 euros"),
    ],
)
def test_the_edition_that_is_meant_comes_first(question: str, first: str) -> None:
    assert finding(question, *PRICES).startswith(f"A ticket costs {first}")


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        (("Rules", "docs:rules.md"), ("Rules (version 3)", "docs:rules.md")),
        (("Rules", "docs:rules_v4.md"), ("Rules", "docs:rules_v3.md")),
        (("Rules", "docs:rules.md"), ("Rules", "docs:rules_old.md")),
    ],
)
def test_an_edition_without_a_date_is_recognised_by_its_name(
    newer: tuple[str, str], older: tuple[str, str]
) -> None:
    documents = [
        ShownDocument(1, *older, texts=("A member pays 40 euros a year.",)),
        ShownDocument(2, *newer, texts=("A member pays 50 euros a year.",)),
    ]
    assert finding("What does a member pay a year?", *documents).startswith(
        "A member pays 50 euros"
    )


def test_a_pasted_text_gets_one_quote_of_each_document() -> None:
    text = (
        "We study how the lamps of old lighthouses burn rape oil and how their keepers trim the wicks. "
        * 7
    )
    documents = [
        ShownDocument(
            number, f"Paper {number}", texts=(f"Lamp {number} burns rape oil. Nobody saw it burn.",)
        )
        for number in range(1, 21)
    ]
    assert re.findall(r"\[(\d+)\]", finding(text.strip(), *documents)) == [
        str(number) for number in range(1, 21)
    ]


def test_each_quote_of_a_finding_is_in_the_report_once_with_its_number() -> None:
    text = finding(QUESTION, SHIP, CAPTAIN)
    assert "Mara Ellingsen was born in Tromsø. [2]" in text
    found = TaskFinding(QUESTION, text)
    report = turn(
        "writer", Facts(request=QUESTION, language="English", findings=(found, found))
    ).text
    assert report.count("Mara Ellingsen was born in Tromsø. [2]") == 1


@pytest.mark.parametrize(
    "request_, findings, sections",
    [
        (
            "When was the light lit, and what was lit in 1844?",
            {
                "When was the light lit?": "The light was lit in 1844. [1]",
                "What was lit in 1844?": "The light was lit in 1844. [1]",
            },
            ["The light was lit in 1844. [1]", "The light was lit in 1844. [1]"],
        ),
        (
            "Summarise: the lamp, the builder, the height",
            {
                "the lamp (1/3)": "The lamp burned oil. [1] Craik was the builder. [1]",
                "the builder (2/3)": "The lamp burned oil. [1] Craik was the builder. [1]",
                "the height (3/3)": "The lamp burned oil. [1] Its height is 38 metres. [1]",
            },
            ["The lamp burned oil. [1]", "Craik was the builder. [1]", "Its height is 38 metres. [1]"],
        ),
        (
            "Who built it? Who kept it? How tall is it? What did it burn? Who owns it?",
            {
                "Who built it; Who kept it": "Craik built it. [1] Moran kept it. [1]",
                "How tall is it; What did it burn": "Moran kept it. [1] It is 38 m tall. [1]",
                "Who owns it": "Craik built it. [1]",
            },
            [
                "Craik built it. [1] Moran kept it. [1]",
                "Moran kept it. [1] It is 38 m tall. [1]",
                "Craik built it. [1]",
            ],
        ),
    ],
    ids=["one quote for two questions", "the same quotes for all topics", "steps of two questions"],
)  # fmt: skip
def test_each_part_of_a_request_has_a_section_with_a_quote_of_its_own(
    request_: str, findings: dict[str, str], sections: list[str]
) -> None:
    found = tuple(TaskFinding(task, text) for task, text in findings.items())
    report = turn("writer", Facts(request=request_, findings=found)).text
    assert [block for block in report.split("\n\n") if not block.startswith("#")] == sections


def test_a_step_that_joins_several_questions_learns_the_answer_to_each() -> None:
    asked = "Who built the light? How tall is it? Who kept it? What did it burn? Who owns it?"
    texts = ("Alan Craik built the light.\n\nThe lamp burned colza oil.\n\nThe tower is tall.",)
    documents = (ShownDocument(1, "Skerry", "docs:skerry.md", texts=texts),)
    steps = turn("planner", Facts(request=asked, most_steps=3), tool_names.MAKE_PLAN)
    [first, *_] = [step["task"] for step in steps.tool_calls[0]["args"]["steps"]]
    assert first == "Who built the light; How tall is it"
    facts = Facts(request=asked, task=first)
    searched = turn("researcher", facts, tool_names.RECORD_ROUND)
    assert len(searched.tool_calls[0]["args"]["next_queries"]) == 2
    facts = facts._replace(documents=documents, used=(("internal_search", ("built",)),))
    learned = turn("researcher", facts, tool_names.RECORD_ROUND).tool_calls[0]["args"]["learnings"]
    assert {fact["text"] for fact in learned} >= {
        "Alan Craik built the light.",
        "The tower is tall.",
    }


@given(FACTS, st.sampled_from([*handed_in.FORM_CLASSES]))
def test_each_form_is_filled_in_validly_from_any_facts(facts: Facts, name: str) -> None:
    assume(facts.request.strip(" \n") or name != tool_names.MAKE_PLAN)
    form = handed_in.FORM_CLASSES[name]
    (call,) = turn("planner", facts, handed_in.SCHEMAS[form]).tool_calls
    assert call["name"] == name
    form.model_validate(call["args"])


@given(
    FACTS,
    st.sampled_from(["clarifier", "planner", "orchestrator", "researcher", "writer"]),
    TEXT,
    TEXT,
)
def test_an_answer_depends_on_the_facts_and_not_on_messages(
    facts: Facts, role: Role, said: str, other: str
) -> None:
    first, second = turn(role, facts, said=said), turn(role, facts, said=other)
    assert first.text == second.text
    assert [call["args"] for call in first.tool_calls] == [
        call["args"] for call in second.tool_calls
    ]


def test_ids_of_the_calls_are_unique_in_a_thread() -> None:
    facts = Facts(request="On Osk:\n1. its kiln\n2. its wharf\n3. its river", most_steps=6)
    called = [
        call for said in ("", "again") for call in turn("orchestrator", facts, said=said).tool_calls
    ]
    assert len({call["id"] for call in called}) == len(called) == 6


WORDS = st.lists(
    st.sampled_from(("kiln", "river", "Osk", "salt", "42", "oven", "Brandt")),
    min_size=2,
    max_size=6,
)
SENTENCE = WORDS.map(lambda words: f"The {' '.join(words)} burns oil.")
PARAGRAPH = st.lists(SENTENCE, min_size=1, max_size=3).map(" ".join)
HEADING = st.tuples(st.sampled_from(["#", "##", "###"]), WORDS).map(
    lambda pair: f"{pair[0]} Head {' '.join(pair[1])}"
)
ITEMS = st.lists(WORDS.map(" ".join), min_size=1, max_size=3).map(
    lambda lines: "- " + "\n- ".join(lines)
)
CELLS = st.lists(st.sampled_from(["Osk", "1,790", "green door", "12"]), min_size=2, max_size=2)
TABLE = st.lists(CELLS, min_size=1, max_size=3).map(
    lambda rows: "\n".join(
        ["| Place | Price |", "| --- | --- |", *(f"| {' | '.join(row)} |" for row in rows)]
    )
)
# Of two tables in a row, the second passes for more rows of the first: see `TWO_TABLES`.
BLOCKS = st.lists(
    PARAGRAPH | HEADING | ITEMS | st.tuples(TABLE, PARAGRAPH).map("\n\n".join), max_size=6
).map(lambda parts: [block for part in parts for block in part.split("\n\n")])
TWO_TABLES = "| Door | Height |\n| --- | --- |\n| Blue | 40 |\n\n| Kiln | Fuel |\n| --- | --- |\n| Osk | oil |"
WILD = st.text("abc Ä9.!?:|#->*_`[]()\n。", max_size=120)
UNITS = st.sampled_from(
    ["million euros", "metres of rail", "% of the ore", "May 1911", "Ohm", "apprentices"]
)
FIGURE = st.from_regex(r"[1-9]\d{0,2}(?:[.,]\d{1,3})?", fullmatch=True)


def texts(text: str) -> list[str]:
    return [unit.text for unit in quotable_units(text)]


def runs_in(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        ("3.2", "3.2 The notice is invalid."),
        ("2.2", "2.2 The rent rises by 3 per cent a year."),
        ("4.10", "The tenant pays for repairs."),
    ],
)
def test_a_clause_is_found_by_its_number(number: str, answer: str) -> None:
    text = (
        "# Lease\n\n2.1 The rent is 32 euros.\n\n2.2. The rent rises by 3 per cent a year.\n\n"
        "2.3. It is paid by the 3rd.\n\n3.2 The notice is invalid.\n\n"
        "## 4.10 Repairs\n\nThe tenant pays for repairs."
    )
    document = ShownDocument(1, "Lease", "docs:lease.md", texts=(text,))
    part = Part(f"What does clause {number} of the lease say?")
    assert [unit.text for unit in Chooser([document], part).choose(200)] == [answer]


@pytest.mark.parametrize(
    ("first", "shown"),
    [
        ("EUR million | 2024 | 2023", "EUR million: Revenue; 2024: 1,284.6; 2023: 1,190.2"),
        ("Sales | 1,402.0 | 1,377.3", "Revenue; 1,284.6; 1,190.2"),
        ("Light | 1844 | 1844", "Revenue; 1,284.6; 1,190.2"),
    ],
)
def test_several_years_in_the_first_row_of_a_table_are_the_names_of_its_columns(
    first: str, shown: str
) -> None:
    table = f"| {first} |\n| --- | --- | --- |\n| Revenue | 1,284.6 | 1,190.2 |"
    assert quotable_units(table)[-1].text == shown


def test_the_headers_and_the_salutation_of_an_email_are_no_units() -> None:
    headers = "E-mail: From: Ruth; Date: Thu, 05 Mar 2026"
    text = f"# Delivery\n\n{headers}\n\nDear Helen,\n\nIt comes on 19 March."
    assert [unit.text for unit in quotable_units(text)] == ["It comes on 19 March."]


@given(BLOCKS)
def test_no_unit_crosses_a_block_a_heading_or_a_table(blocks: list[str]) -> None:
    for unit in quotable_units("\n\n".join(blocks)):
        assert any({*runs_in(unit.text)} <= {*runs_in(block)} for block in blocks)
        if unit.kind == "sentence":
            assert any(
                unit.text in block for block in blocks if not block.startswith(("#", "|", "-"))
            )


@given(BLOCKS.map("\n\n".join) | WILD)
@example("|\n|")
def test_each_word_of_a_unit_is_in_the_text_and_the_units_are_reproducible(text: str) -> None:
    units = quotable_units(text)
    known = "".join(runs_in(text))
    for unit in units:
        assert all(word in known for word in runs_in(unit.text))
        assert "\n" not in unit.text
        assert unit.text.strip()
    quotable_units.cache_clear()
    assert quotable_units(text) == units


@given(PARAGRAPH, st.integers(15, 60))
def test_line_breaks_within_a_paragraph_change_nothing(paragraph: str, width: int) -> None:
    assert quotable_units(fill(paragraph, width)) == quotable_units(paragraph)


ROWS = TABLE.filter(lambda table: table.count("\n") > 1)


@given(st.lists(PARAGRAPH | ITEMS | ROWS, min_size=1, max_size=4).map("\n\n".join))
def test_the_quotes_in_a_finding_can_be_found_and_removed(text: str) -> None:
    chosen = [unit._replace(number=number) for number, unit in enumerate(quotable_units(text), 1)]
    blocks = laid_out(chosen, "Source").split("\n\n")
    quotes = [quote for block in blocks for quote in quotes_in(block)]
    assert [int(re.findall(r"\[(\d+)\]", quote)[-1]) for quote in quotes] == [
        unit.number for unit in chosen
    ]
    assert [with_quotes(block, quotes_in(block)) for block in blocks] == blocks
    assert not any(with_quotes(block, ()) for block in blocks)


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("The U.S. Navy met Dr. J. R. Smith of St. Paul. It paid 3.5 million. He left at 5 p.m. It ended.",
         ["The U.S. Navy met Dr. J. R. Smith of St. Paul.", "It paid 3.5 million.", "He left at 5 p.m.", "It ended."]),
        ("北京是中国的首都。上海很大！", ["北京是中国的首都。", "上海很大！"]),
        ("# A heading of words\n\nOne sentence that\nruns on.", ["One sentence that runs on."]),
        ("It rose by half then.[12] It fell [3] again.", ["It rose by half then.", "It fell again."]),
        ("Die Kaution wird am\n12. Juni 2024 fällig.", ["Die Kaution wird am 12. Juni 2024 fällig."]),
        ("> The kiln was fired until\n> 1950 by Ole.", ["The kiln was fired until 1950 by Ole."]),
        ("1. Open the valve\n2. Light the small flame", ["Open the valve", "Light the small flame"]),
        ("2.1. The valve is open.\n\n2.2. The flame burns.", ["2.1 The valve is open.", "2.2 The flame burns."]),
        ("10:02 Ole: A list:\nsalt and oil\n10:03 Eva: Fine", ["10:02 Ole: A list: salt and oil", "10:03 Eva: Fine"]),
        ("The map was drawn at\n1:20 on thin paper.", ["The map was drawn at 1:20 on thin paper."]),
        ("बाग में 412 पेड़ हैं।\n\nवह गहरा है। वह पुराना है।", ["बाग में 412 पेड़ हैं।", "वह गहरा है।", "वह पुराना है।"]),
        ("Payload: 180 kg\nDesigner: Yngve Fosse", ["Payload: 180 kg", "Designer: Yngve Fosse"]),
        ("| Door | Height |\n| --- | --- |\n| Blue | 40 |", ["Door: Blue; Height: 40"]),
        (TWO_TABLES, ["Door: Blue; Height: 40", "Kiln: Osk; Fuel: oil"]),
        ("See **the** [kiln](https://x.org/k).", ["See the kiln."]),
        # A line that begins with a time is one message with its sender.
        *(("\n".join(said), said) for said in (
            ["[12/03/2026, 08:14:02] Dana: Morning all", "[12/03/2026, 08:15:40] Tom: The crane comes on Monday"],
            ["12.03.26, 08:14 - Dana: The pit is dry. Call me.", "12.03.26, 08:20 - Lena: 38 cubic metres at 06:50"],
            ["2026-03-12T08:14:02Z WARN pump 4: pressure 2.1 bar", "2026-03-12T08:15:00Z INFO pump 4: pressure 3 bar"],
            ["[00:01:02] Marsh: We lost two.", "[00:01:09] Ode: Which ones?", "[00:01:11] Marsh: Five and six."],
            ["8:14 AM Dana: Who has the key?", "8:15 AM Tom: It hangs in the hut"],
        )),
        # A footnote is a unit without its label.
        *((f"The peat is thick.{label}\n\n{label}: Without the margin.\n[^z]: A 200 MHz antenna on a sledge.\n",
           ["The peat is thick.", "Without the margin.", "A 200 MHz antenna on a sledge."])
          for label in ("[^1]", "[^method]", "[^note-2]", "[^*]")),
    ],
)  # fmt: skip
def test_sentences_items_records_rows_messages_and_footnotes_are_units(
    text: str, units: list[str]
) -> None:
    assert texts(text) == units


def test_a_unit_knows_its_heading_its_lead_and_the_sentence_before() -> None:
    text = "# Lamps\n\n## Tarn\n\nThe lamp is old. It was made by hand.\n\nIt comes in:\n\n- moss green\n"
    units = {unit.text: unit for unit in quotable_units(text)}
    assert units["It was made by hand."] == QuotableUnit(
        "It was made by hand.", "sentence", "Lamps › Tarn", before="The lamp is old."
    )
    assert units["moss green"] == QuotableUnit("moss green", "item", "Lamps › Tarn", "It comes in:")


@pytest.mark.parametrize(
    "attribution",
    [
        "On Wed, 18 Mar 2026 at 09:12, Dana Whitlock <dana@example.com> wrote:",
        "Am 18.03.2026 um 09:12 schrieb Dana Whitlock:",
        "Le 18 mars 2026, Dana Whitlock a écrit :",
        "Dana Whitlock, 18 March 2026:",
    ],
)
def test_a_quoted_email_has_the_line_above_it_as_its_lead(attribution: str) -> None:
    quoted = "> Hello Jo,\n> we offer 2400 euros.\n>\n> It is for three years.\n"
    text = f"We agree to 2850 euros.\n\n{attribution}\n{quoted}"
    leads = {unit.text: unit.lead for unit in quotable_units(text)}
    assert leads["We agree to 2850 euros."] == ""
    assert leads["Hello Jo, we offer 2400 euros."] == leads["It is for three years."] == attribution


@pytest.mark.parametrize(
    "sentence",
    [
        "3.2 million euros were approved.",
        "2. was the rank.",
        "12. Juni 2024 war der Tag.",
        "4) was the answer given.",
    ],
)
def test_a_number_at_the_beginning_of_a_line_is_not_always_that_of_a_list(sentence: str) -> None:
    assert texts(sentence) == [sentence]
    assert texts(f"The committee met in May.\n\n{sentence}") == [
        "The committee met in May.",
        sentence,
    ]


@given(st.lists(st.tuples(FIGURE, UNITS), min_size=1, max_size=4))
def test_no_figure_is_lost_from_sentences_that_begin_with_one(pairs: list[tuple[str, str]]) -> None:
    text = "\n\n".join(f"{figure} {unit} were counted in the yard." for figure, unit in pairs)
    assert re.findall(r"\d[\d.,]*", " ".join(texts(text))) == re.findall(r"\d[\d.,]*", text)


@pytest.mark.parametrize("text", ["स्केरी प्रकाशस्तंभ 39 मीटर ऊँचा है", "مَنارَةُ سكيري بُنِيَت عام 1844"])
def test_a_word_with_combining_marks_is_one_word_in_the_index_and_in_units(text: str) -> None:
    assert len(tokens(text)) == len(sought_words(text)) == len(text.split())


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        (
            "What rent was offered for unit 7?",
            "We offer unit 7 for 2,640 euros a month from 1 June.\n\n"
            "| Unit | Rent |\n|---|---|\n| 7 | 2,640 |\n| 9 | 1,980 |",
            "from 1 June",
        ),
        (
            "What is the fee of the Harwich branch?",
            "Harwich pays 310 until the pier is mended.\n\n"
            "| Branch | Fee |\n|---|---|\n| Harwich | 310 |\n| Deal | 290 |",
            "until the pier is mended",
        ),
        (
            "Welche Leistung hat Turbine 4?",
            "Nummer 4 läuft seit März mit 850 Kilowatt.\n\n"
            "| Turbine | Leistung |\n|---|---|\n| 4 | 850 |\n| 5 | 910 |",
            "seit März",
        ),
    ],
)
def test_a_sentence_with_all_values_of_a_row_is_quoted_with_it(
    tmp_path: Path, question: str, text: str, said: str
) -> None:
    assert said in ask(tmp_path, question, offer_md=f"# Offer\n\n{text}\n")
