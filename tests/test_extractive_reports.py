"""What the extractive model quotes: findings and reports."""

from __future__ import annotations

import re

import pytest
from extracting import CAPTAIN, OTHER, QUESTION, SHIP, cited, exchange, finding_for, model, reminder, report_on
from langchain_core.messages import HumanMessage, SystemMessage

from deep_research.models.extractive import ExtractiveChatModel
from deep_research.models.extractive.pool import Pool, Text
from deep_research.models.extractive.reading import HEADING
from deep_research.models.extractive.sentences import Quotable, sentences


def test_a_finding_quotes_word_for_word_with_a_marker_after_each_sentence() -> None:
    finding = finding_for(QUESTION, ("Heron", OTHER), ("Silver Heron", SHIP), ("Mara Ellingsen", CAPTAIN))
    assert "Ellingsen was born in Tromsø, Norway. [3]" in finding.split("\n\n")[0]
    quoted = re.findall(r"(\S.*?) \[(\d)\]", HEADING.sub("", finding))
    assert len(quoted) > 3
    for text, number in quoted:
        assert text in (OTHER, SHIP, CAPTAIN)[int(number) - 1]


def test_a_finding_quotes_three_sentences_a_document_at_most_and_a_paragraph_a_document() -> None:
    long = " ".join(f"The Silver Heron sailed to port number {number}." for number in range(9))
    finding = finding_for(QUESTION, ("Silver Heron", long), ("Mara Ellingsen", CAPTAIN))
    _, first, evidence, second = finding.split("\n\n")
    assert (first, second) == ("### Silver Heron [1]", "### Mara Ellingsen [2]")
    assert set(re.findall(r"\[(\d)\]", evidence)) == {"1"}
    assert len(re.findall(r"\. \[1\]", finding)) == 3


def test_brackets_in_a_title_are_no_citation_of_ours() -> None:
    assert "### Silver Heron (3) [1]" in finding_for(QUESTION, ("Silver Heron [3]", SHIP))


def test_a_finding_says_which_names_no_document_holds() -> None:
    text = finding_for("Did Mara Ellingsen know Captain Orlo Brandt?", ("Mara Ellingsen", CAPTAIN))
    assert text.endswith("Nothing was found on “Captain Orlo Brandt”.")
    assert "“Mara Ellingsen”" not in text


@pytest.mark.parametrize("question", ["Wann wurde der Turm das letzte Mal gebaut?", "北京的人口是多少？"])
def test_words_that_only_look_like_names_are_not_missed(question: str) -> None:
    assert "“" not in finding_for(question, ("Turm", "Der Turm wurde 1901 gebaut. 北京的人口是两千一百万。"))


@pytest.mark.parametrize("greeting", ["Hello Hanne,", "Sehr geehrte Frau Doktor Brock,"])
def test_a_sentence_behind_a_salutation_may_begin_in_lower_case(greeting: str) -> None:
    text = f"{greeting}\n\nthe pump failed on Monday morning. It was mended on Tuesday.\n\nbest regards from the yard."
    assert sentences(text) == ["the pump failed on Monday morning.", "It was mended on Tuesday."]


def test_a_line_that_goes_on_in_lower_case_is_not_taken_for_a_letter() -> None:
    text = "On Monday the pump of the forward tank failed again,\n\nwhich had been mended on Tuesday."
    assert sentences(text) == []


def test_bracketed_numbers_of_a_document_are_never_quoted_in_brackets() -> None:
    assert sentences("It rose by half then.[12] It fell again later. [3][4] It held [5] in the end.") == [
        "It rose by half then.",
        "It fell again later.",
        "It held (5) in the end.",
    ]


def test_a_finding_without_anything_that_fits_says_so_without_markers() -> None:
    text = finding_for("What is the boiling point of tungsten?", ("Heron", OTHER))
    assert text.startswith("Nothing was found")
    assert "[" not in text


def test_sentences_do_not_end_at_abbreviations_initials_or_decimals() -> None:
    text = "The U.S. Navy met Dr. J. R. Smith of St. Paul. It paid 3.5 million. He left at 5 p.m. The end came soon."
    assert sentences(text) == [
        "The U.S. Navy met Dr. J. R. Smith of St. Paul.",
        "It paid 3.5 million.",
        "He left at 5 p.m.",
        "The end came soon.",
    ]


def test_headings_tables_and_cut_off_ends_are_not_sentences() -> None:
    text = "# A heading of words.\n\nOne sentence that\nruns on. … Half of one is here.\n\n| a | b |\n\nAnd this one is"
    assert sentences(text) == ["One sentence that runs on."]


def test_chinese_sentences_are_told_apart() -> None:
    assert sentences("北京是中国的首都。上海很大！") == ["北京是中国的首都。", "上海很大！"]


def test_a_report_begins_with_the_answer_and_says_that_it_is_an_extract() -> None:
    report = report_on(QUESTION, "Her captain on the Silver Heron was Mara Ellingsen. [2] " + cited(CAPTAIN, 5, " "))
    first = report.split("\n\n")[0]
    assert "Ellingsen was born in Tromsø, Norway. [5]" in first
    assert not report.startswith("#")
    assert "extract" in report.split("\n\n")[1]
    assert set(re.findall(r"\[(\d+)\]", report)) == {"2", "5"}


def test_a_report_says_no_sentence_twice() -> None:
    report = report_on("Where was Mara Ellingsen born?", cited(CAPTAIN, 1), cited(CAPTAIN, 1))
    assert report.count("Ellingsen was born in Tromsø, Norway.") == 1


def test_a_report_without_anything_that_fits_says_that_the_documents_do_not_answer() -> None:
    question = "Who founded the Quillon Foundry?"
    for findings in ((), ("Nothing was found.",), (cited(OTHER, 1),)):
        report = report_on(question, *findings)
        assert report.startswith("The documents do not answer this question.")
        assert "Quillon Foundry" in report


@pytest.mark.parametrize(
    ("question", "is_answered"),
    [
        ("Who designed the logo of the Silver Heron?", False),
        ("Which cargo did the Silver Heron carry?", True),
        ("In which country did the owner of the Silver Heron live?", False),
        ("What type of ship was the Silver Heron?", True),
        ("When did the Silver Heron sink?", True),
    ],
)
def test_a_name_alone_is_no_answer(question: str, is_answered: bool) -> None:
    finding = f"{SHIP.replace('. ', '. [1] ')} [1]\n\n### Silver Heron [1]"
    assert ("do not answer" not in report_on(question, finding)) is is_answered


def test_inflected_words_of_the_question_are_met_in_its_language() -> None:
    pool = Pool(
        [Text(1, "Varn", (Quotable("Varn ist eine Stadt mit 900 Einwohnern."),))], "Wie viele Einwohner hat sie?"
    )
    assert "einwohner" in pool.sentences[0].stems
    russian = Pool(
        [Text(1, "Город", (Quotable("В городе и на острове жили рыбаки."),))], "Кто был рыбаком на этом острове?"
    )
    assert {"рыбаком", "острове"} <= {*russian.sentences[0].stems}


def test_a_comparison_has_a_section_for_each_side() -> None:
    plan = "1. Compare solar panels and wind turbines\n2. solar panels\n3. wind turbines"
    findings = (
        "Solar panels make power from light. [1]\n\nCheap solar panels last for years. [1]\n\n"
        "Modern solar panels are light. [3]",
        "Wind turbines make power from wind. [2]\n\nLarge wind turbines are loud. [2]\n\nOld wind turbines fail. [4]",
    )
    report = report_on("Compare solar panels and wind turbines", *findings, plan=plan)
    assert "## solar panels" in report
    assert "## wind turbines" in report


def test_a_chinese_question_is_answered_from_chinese_sentences() -> None:
    finding = finding_for("北京的人口是多少？", ("上海", "上海很大。"), ("北京", "北京的人口是两千一百万。"))
    assert finding == "北京的人口是两千一百万。 [2]\n\n### 北京 [2]"
    assert report_on("北京的人口是多少？", finding).startswith("北京的人口是两千一百万。 [2]")


def test_what_else_the_sources_say_stands_apart_from_the_answer() -> None:
    evidence = f"### Mara Ellingsen [5]\n\nMara Ellingsen was a sailor. [5]\n\n### Herons [6]\n\n{cited(OTHER, 6, ' ')}"
    finding = f"Ellingsen was born in Tromsø, Norway. [5]\n\n{evidence}"
    parts = report_on("Where was Mara Ellingsen born?", finding).split("\n\n")
    assert parts[2:] == [
        "## Evidence",
        "Mara Ellingsen was a sailor. [5]",
        "## Related passages",
        "Herons are long-legged birds. [6] They live near water. [6]",
    ]


def test_a_single_question_cites_five_documents_at_most() -> None:
    finding = "\n\n".join(f"Mara Ellingsen was born in town {number}. [{number}]" for number in range(1, 9))
    report = report_on("Where was Mara Ellingsen born?", finding)
    assert set(re.findall(r"\[(\d)\]", report)) == {"1", "2", "3", "4", "5"}


def test_the_words_of_the_report_are_in_its_language() -> None:
    last = reminder("<plan>\n1. Wer?\n</plan>")
    research = exchange("research_agent", "Nothing was found on “Quillon”.", "c1", task="t")
    prompt = [SystemMessage("Write.\n- Write in German."), HumanMessage("Wer gründete Quillon?"), *research, last]
    assert str(model("writer").invoke(prompt).text).startswith(
        "Die Dokumente beantworten diese Frage nicht. Zu “Quillon”"
    )


def test_the_profile_says_what_the_model_can_do() -> None:
    profile = ExtractiveChatModel(role="writer").profile
    assert profile is not None
    assert profile["tool_calling"]
    assert not profile["reasoning_output"]
    assert profile["max_input_tokens"] > 1_000_000


AURELIA = "The Aurelia has sailed to Osk since 1998. She carries 420 passengers. Her paint is green."
BOHEMUND = "The Bohemund has sailed to Osk since 2016. She carries 650 passengers. Her crew is young."
FERRIES = (("Ferry Aurelia", AURELIA), ("Ferry Bohemund", BOHEMUND), ("Heron", OTHER))


@pytest.mark.parametrize(
    "question",
    [
        "Which ferry carries more passengers, the Aurelia or the Bohemund?",
        "Compare the passengers of the Aurelia and the Bohemund.",
        "Aurelia vs. Bohemund: how many passengers does each carry?",
        "Vergleiche Aurelia und Bohemund: passengers",
    ],
)
def test_a_comparison_is_answered_for_both_sides(question: str) -> None:
    finding = finding_for(question, *FERRIES)
    answer = finding.split("\n\n")[0]
    assert "She carries 420 passengers. [1]" in answer
    assert "She carries 650 passengers. [2]" in answer
    assert "[3]" not in answer
    assert report_on(question, finding).startswith(answer)


def test_a_side_of_which_nothing_is_said_makes_no_comparison() -> None:
    answer = finding_for("Which carries more passengers, the Aurelia or the Quillon?", FERRIES[0]).split("\n\n")[0]
    assert "She carries 420 passengers. [1]" in answer


LIGHTS = "- Tarn Head Light, lit in 1851.\n- Osk Mole Light, lit in 1902.\n- Gull Rock Light, lit in 1877."


@pytest.mark.parametrize(
    "question",
    ["List the lighthouses of Venn.", "Which lighthouses are there in Venn?", "What are the lighthouses of Venn?"],
)
def test_a_question_for_a_list_gets_all_items_one_by_one(question: str) -> None:
    report = report_on(question, finding_for(question, ("Heron", OTHER), ("Lighthouses of Venn", LIGHTS)))
    assert report.split("\n\n")[0] == LIGHTS.replace(".", ". [2]")


TABLE = "| Year | Salt in tonnes |\n| --- | --- |\n| 2018 | 5 120 |\n| 2019 | 4 870 |\n| 2020 | 5 340 |"


def test_the_row_of_a_table_that_is_asked_for_is_shown_with_its_header_and_its_source() -> None:
    question = "How many tonnes of salt were harvested in 2019?"
    finding = finding_for(
        question, ("Heron", OTHER), ("Salt works", f"Rain fell on the salt in 2019.\n\n{TABLE}\n\nEnd.")
    )
    row = "| Year | Salt in tonnes | Source |\n| --- | --- | --- |\n| 2019 | 4 870 | [2] |"
    report = report_on(question, finding)
    assert report.startswith(f"{row}\n\nThis report is an extract")
    assert "Rain fell on the salt in 2019. [2]" in report


def test_a_table_alone_answers() -> None:
    question = "How many tonnes of salt were harvested in 2019?"
    report = report_on(question, finding_for(question, ("Salt works", TABLE)))
    assert report.startswith("| Year | Salt in tonnes | Source |\n| --- | --- | --- |\n| 2019 | 4 870 | [1] |")


def test_a_table_that_has_nothing_to_do_with_the_question_is_left_out() -> None:
    assert "|" not in finding_for("When was the Silver Heron built?", ("Silver Heron", f"{SHIP}\n\n{TABLE}"))


def test_each_of_several_questions_is_answered_in_the_beginning() -> None:
    question = "When did the Aurelia sail, and who built the Bohemund?"
    plan = f"1. {question}\n2. When did the Aurelia sail\n3. who built the Bohemund"
    findings = (
        "The Bohemund was built in Osk. [2] The Aurelia is green. [1]",
        "The Aurelia has sailed since 1998. [1] The Aurelia is green. [1]",
        "Ada Brandt built the Bohemund. [3]",
    )
    report = report_on(question, *findings, plan=plan)
    assert report.split("\n\n")[0] == (
        "The Aurelia has sailed since 1998. [1] The Aurelia is green. [1] Ada Brandt built the Bohemund. [3]"
    )


def test_where_only_one_of_two_questions_is_a_step_the_whole_answers_the_other() -> None:
    question = "How was the old Aurelia painted in Osk, and who built her?"
    findings = ("The Aurelia was painted green in Osk. [1]", "Ada Brandt built the Aurelia. [3]")
    report = report_on(question, *findings, plan=f"1. {question}\n2. who built her")
    assert report.startswith("The Aurelia was painted green in Osk. [1] Ada Brandt built the Aurelia. [3]")
