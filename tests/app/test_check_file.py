"""The command `check`: reports from elsewhere, checked against the documents and pages that they
cite."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from kit.commands import Desk
from kit.models import ScriptedChatModel, figure_judge, units_shown
from kit.models import judged as judge_reply
from langchain_core.language_models import ModelProfile
from langchain_core.messages import AIMessage

from deep_research import Context
from deep_research.app.check_file import check_file
from deep_research.core.evidence.citations.foreign import read_foreign
from deep_research.core.evidence.citations.rendering import without_marks
from deep_research.core.reading.documents.records import readable_suffixes

LIGHT = (
    "# Skerry Light\n\nThe light was lit for the first time in 1844. It stands 38 metres tall.\n"
)
KEEPER = "# Keepers\n\nAda Moran kept the light for 21 years.\n"
BODY = "The light was lit in 1844 [1]. It stands 83 metres tall [1]. She kept it for 21 years [2]. It is red [3]."
LIST = "1. Skerry Light, light.md\n2. Keepers: keeper.md\n3. Gone, <http://127.0.0.1:9/gone.html>"
MARKDOWN = f"# The light\n\n{BODY}\n\n## References\n\n{LIST}\n\nWritten by a machine."
SUFFIXES = readable_suffixes()
WEB = "https://light.example/a_(b).html"


def documents(folder: Path) -> Path:
    folder.mkdir()
    (folder / "light.md").write_text(LIGHT)
    (folder / "keeper.md").write_text(KEEPER)
    return folder


def judged(docs: Path, **settings: Any) -> Context:
    models: Any = {"verifier": figure_judge(), "writer": "extractive"}
    return Context(
        models=models, verify="check", docs=[docs], data_dir=docs.parent / "data", **settings
    )


def html() -> bytes:
    body = BODY.replace("[1]", '<a href="#r1">[1]</a>').replace(
        "[2]", '<sup><a href="#r2">2</a></sup>'
    )
    entries = "".join(
        f"<li>{line.partition('. ')[2].replace('<', '').replace('>', '')}</li>"
        for line in LIST.split("\n")
    )
    return f"<html><body><h1>The light</h1><p>{body}</p><h2>References</h2><ol>{entries}</ol></body></html>".encode()


def word() -> bytes:
    document = docx.Document()
    document.add_heading("The light", 1)
    document.add_paragraph(BODY)
    document.add_heading("References", 1)
    for line in LIST.split("\n")[:2]:
        document.add_paragraph(line)
    last = document.add_paragraph("3. ")
    link, run = OxmlElement("w:hyperlink"), last.add_run("Gone")
    link.set(
        qn("r:id"),
        document.part.relate_to("http://127.0.0.1:9/gone.html", RELATIONSHIP_TYPE.HYPERLINK, True),
    )
    link.append(run._r)
    last._p.append(link)
    document.save(made := BytesIO())
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [("r.md", MARKDOWN.encode()), ("r.html", html()), ("r.docx", word())],
    ids=["md", "html", "docx"],
)
async def test_each_statement_is_checked_against_the_sources_it_cites(
    tmp_path: Path, name: str, data: bytes
) -> None:
    found = await check_file(data, name, judged(documents(tmp_path / "docs")))
    outcomes = [
        (statement.outcome, statement.sources)
        for statement in found.statements
        if statement.sources
    ]
    assert outcomes[1] in [("contradicted", (1,)), ("not in the source", (1,))]
    assert [*outcomes[:1], *outcomes[2:]] == [
        ("supported", (1,)),
        ("supported", (2,)),
        ("source not reachable", (3,)),
    ]
    assert found.is_wrong and [*found.unread] == [3]
    text = found.markdown()
    assert "It stands 83 metres tall [1]. *(not verified)*" in text.replace("\u00a0", " ")
    assert "It is red [3]. *(" not in text and "Not read: source 3" in text
    assert "| Statement | Verdict | Sources | Passage |" in text


async def test_a_contradicted_statement_is_marked_with_the_value_of_its_source(
    tmp_path: Path,
) -> None:
    said = "The light was lit for the first time in 1844. It stands 38 metres tall."
    judge = ScriptedChatModel(
        replies={"": lambda messages, _: contradicted(messages[-1].text, said)},
        profile=ModelProfile(max_input_tokens=100_000),
    )
    context = judged(documents(tmp_path / "docs"), trust_verifier=True)
    context = context.model_copy(update={"models": {"verifier": judge, "writer": "extractive"}})
    report = "It stands 83 metres tall [1]. Nobody lives there [1].\n\n## Sources\n\n1. light.md"
    found = await check_file(report.encode(), "r.md", context)
    assert "It stands 83 metres tall [1]. *(contradicted: 38)*" in found.markdown()
    assert "Nobody lives there [1]. *(not verified)*" in found.markdown()
    assert "(contradicted: 38)" in found.html("r.md")
    assert without_marks(found.report.text) == report.partition("\n")[0]
    assert found.exit_code == 1


def contradicted(prompt: str, said: str) -> AIMessage:
    """Contradict each unit with a figure by words of the source, and find no other."""
    units, _ = units_shown(prompt)
    verdicts = list[str | tuple[str, str]]()
    for unit in units:
        has_figure = any(map(str.isdigit, unit["says"]))
        verdicts.append(("contradicted", said) if has_figure else "not_found")
    return judge_reply(*verdicts)


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(
    "text", ["1." + " " * 60_000, "x" + " " * 60_000 + "y", "1. " + "word " * 20_000, "[" * 60_000]
)
def test_a_hostile_report_is_read_without_delay(text: str) -> None:
    report = f"{text}\n[1](http://a.example/{'a' * 60_000}"
    assert not read_foreign(report, SUFFIXES).targets.keys() - {1}


def test_without_a_model_numbers_are_looked_up_in_the_sources(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    documents(desk.docs)
    (tmp_path / "report.md").write_text(MARKDOWN)
    given = (
        "check",
        str(tmp_path / "report.md"),
        "--docs",
        str(desk.docs),
        "--model",
        "extractive",
    )
    ended = desk.call(*given, "--format", "json")
    counts = {"numbers found": 2, "numbers not found": 1, "source not reachable": 1, "no source": 1}
    assert (ended.code, json.loads(ended.out)["counts"]) == (1, counts)
    (tmp_path / "report.md").write_text(MARKDOWN.replace("83", "38"))
    ended = desk.call(*given, "--out", str(tmp_path / "checked.html"))
    assert ended.code == 6 and "2 numbers found; 1 supported" in ended.err
    assert "The light was lit in 1844" in (tmp_path / "checked.html").read_text("utf-8")


def test_a_report_that_cannot_be_read_is_refused_as_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    desk = Desk(tmp_path)
    (tmp_path / "empty.md").write_text(" ")
    (tmp_path / "broken.docx").write_text("no archive")
    for name, words in {
        "none.md": "No such file",
        "empty.md": "no text",
        "broken.docx": "cannot be read",
    }.items():
        ended = desk.call("check", name, "--model", "extractive")
        assert (ended.code, words in ended.err, "Traceback" in ended.err) == (2, True, False), (
            ended.err
        )


def test_a_request_that_is_too_long_is_refused_with_the_limit(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text(MARKDOWN)
    given = ("--model", "extractive", "--limit", "question_characters=1000")
    ended = Desk(tmp_path).call(
        "check", str(tmp_path / "report.md"), "--request", "a" * 1001, *given
    )
    assert ended.code == 2
    assert "The request has 1001 characters; at most 1000 are accepted" in ended.err


def test_a_report_is_read_from_a_pipe(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    piped = desk.call("check", "-", "--model", "extractive", stdin="It was lit in 1844.")
    assert piped.code == 6 and "It was lit in 1844." in piped.out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Lit in 1844 [[1]]({WEB}).", "Lit in 1844 [1]."),
        (f'Lit in 1844 [7]({WEB} "a title").', "Lit in 1844 [7]."),
        (f"Lit [in 1844]({WEB}).", "Lit in 1844 [1]."),
        (f"Lit in 1844 ({WEB}).", "Lit in 1844 [1]."),
        (f"Lit in 1844 【1】.\n\n**Sources**\n\n【1】 The light: {WEB}", "Lit in 1844 [1]."),
        (f"Lit in 1844.[^1]\n\n[^1]: The light, {WEB}", "Lit in 1844.[1]"),
        (f"Lit in 1844 [1](#s).\n\n## Sources\n\n[1] The light  \n{WEB}\n", "Lit in 1844 [1]."),
        (f"Lit in 1844 [2].\n\n### 来源\n\n- [2] The light: {WEB}", "Lit in 1844 [2]."),
    ],
)
def test_every_form_of_citation_is_recognized(text: str, expected: str) -> None:
    found = read_foreign(text, SUFFIXES)
    assert found.text == expected
    assert [target.address for target in found.targets.values()] == [WEB]


@pytest.mark.fault("57")
def test_a_report_with_too_many_statements_is_refused_in_words(desk: Desk) -> None:
    refused = desk.call("check", "-", "--model", "extractive", stdin="The light burns. " * 2_001)
    assert "-: the report has 2001 statements; at most 2000 are checked." in refused.err
    assert refused.code == 2
