"""Reports by other programs in thirteen styles of citing: every marker is resolved or named."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import docx
import pytest
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from kit.commands import Desk

from deep_research import Context
from deep_research.app.check_file import ReportFile, check_file
from deep_research.core.evidence.citations.foreign import read_foreign
from deep_research.core.evidence.citations.markers import Marker, scan
from deep_research.core.reading.documents.records import readable_suffixes

FOLDER = Path(__file__).with_name("foreign_reports")
EXPECTED: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "expected.toml").read_text("utf-8"))
SUFFIXES = readable_suffixes()
DOCUMENTS = {
    "skerry.md": "# The Skerry Light\n\nThe Skerry Light was lit on 1 February 1844.\n",
    "hollin.md": "# Hollin Garden\n\nHollin Garden has 412 trees.\n",
    "keld.md": "# Keldness mole\n\nThe mole of Keldness is 640 metres long.\n",
}
NOTE_PARTS = {
    "footnote": (RELATIONSHIP_TYPE.FOOTNOTES, CONTENT_TYPE.WML_FOOTNOTES),
    "endnote": (RELATIONSHIP_TYPE.ENDNOTES, CONTENT_TYPE.WML_ENDNOTES),
}
WORD: dict[str, tuple[str, Sequence[str], Sequence[str]]] = {
    "word-footnotes.docx": (
        "footnote",
        ["It was lit in 1844.", "There are 412 trees.", "It is green.", "It is long.", "So be it."],
        [
            "The Skerry Light, skerry.md",
            "Hollin Garden,|hollin.md",
            "https://garden.example/trees",
            "Keldness mole. keld.md",
            "A remark on the mole.",
        ],
    ),
    "word-endnotes.docx": (
        "endnote",
        ["It was lit in 1844.", "It is 39 metres tall.", "It is long."],
        ["The Skerry Light: skerry.md, p. 3.", "Ibid., p. 4.", "Keldness mole - keld.md"],
    ),
}


def word(kind: str, sentences: Sequence[str], notes: Sequence[str]) -> bytes:
    """Return a Word document with a note behind each sentence; `|` is between the paragraphs of a
    note, and an address is a link."""
    document = docx.Document()
    document.add_heading("Report", 1)
    paragraph = document.add_paragraph()
    for number, sentence in enumerate(sentences, 2):
        paragraph.add_run(f"{sentence} ".lstrip() if number == 2 else f" {sentence}")
        run = paragraph.add_run()
        run.font.superscript = True
        run._r.append(parse_xml(f'<w:{kind}Reference {nsdecls("w")} w:id="{number}"/>'))
    relation, content_type = NOTE_PARTS[kind]
    written = ""
    addresses = list[str]()
    for number, note in enumerate(notes, 2):
        written += f'<w:{kind} w:id="{number}">'
        for words in note.split("|"):
            content = f"<w:r><w:t>{words}</w:t></w:r>"
            if words.startswith("https"):
                addresses.append(words)
                content = f'<w:hyperlink r:id="rId{len(addresses)}"><w:r><w:t>Here</w:t></w:r></w:hyperlink>'
            written += f"<w:p><w:r><w:{kind}Ref/></w:r>{content}</w:p>"
        written += f"</w:{kind}>"
    blob = f"<w:{kind}s {nsdecls('w', 'r')}>{written}</w:{kind}s>".encode()
    part = Part(PackURI(f"/word/{kind}s.xml"), content_type, blob, document.part.package)
    for address in addresses:
        part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
    document.part.relate_to(part, relation)
    document.save(made := BytesIO())
    return made.getvalue()


async def read(name: str) -> ReportFile:
    data = word(*WORD[name]) if name in WORD else (FOLDER / name).read_bytes()
    return await ReportFile.read(data, name, Context(models="extractive"))


def cited(report: ReportFile) -> str:
    """The files of each marker of a report."""
    unknown = {marker.number for marker in report.not_understood}
    markers = list[str]()
    for part in scan(report.text):
        if isinstance(part, Marker):
            files = list[str]()
            for number in part.numbers:
                name = report.targets[number].address.rpartition("/")[2]
                files.append("?" if number in unknown else re.sub(r"\.\w+$", "", name))
            markers.append("+".join(files))
    return " ".join(markers)


@pytest.mark.fault("67")
@pytest.mark.parametrize("name", EXPECTED)
async def test_every_marker_of_a_report_is_resolved_or_named(name: str) -> None:
    expected = EXPECTED[name]
    report = await read(name)
    assert cited(report) == expected["cites"]
    assert [marker.words for marker in report.not_understood] == expected["named"]
    for words in expected.get("kept", ()):
        assert words in report.text
    for listed in ("skerry.md", "hollin.md", "keld.md"):
        assert listed not in report.text


def test_all_reports_of_the_folder_are_read() -> None:
    files = {path.name for path in FOLDER.iterdir()} - {"expected.toml"}
    assert files | WORD.keys() == EXPECTED.keys() and len(EXPECTED) == 25


def checked(tmp_path: Path, report: str, *options: str) -> tuple[int, dict[str, Any], str]:
    """Check a report against the documents without a model; return the exit code, the JSON and
    what was written to standard error."""
    desk = Desk(tmp_path)
    desk.docs.mkdir(exist_ok=True)
    for name, text in DOCUMENTS.items():
        (desk.docs / name).write_text(text, "utf-8")
    given = ("check", "-", "--model", "extractive", "--format", "json", *options)
    ended = desk.call(*given, stdin=report)
    return ended.code, json.loads(ended.out), ended.err


def in_docs(tmp_path: Path) -> tuple[str, str]:
    return "--docs", str(Desk(tmp_path).docs)


LIT = "The Skerry Light was lit on 1 February 1844"


@pytest.mark.parametrize(
    ("entry", "title"),
    [
        ("The Skerry Light. skerry.md", "The Skerry Light"),
        ("The Skerry Light - skerry.md", "The Skerry Light"),
        ("„Das Feuer“ (Band 2), in: /home/ash/reports/skerry.md, S. 4", "The Skerry Light"),
        ("Ash, J. 1990. Light of Skerry part 2.md", "Part two"),
        (r"C:\\lights\\Light of Skerry part 2.md", "Part two"),
    ],
)
def test_the_name_of_a_file_in_an_entry_is_the_longest_that_exists(
    tmp_path: Path, entry: str, title: str
) -> None:
    docs = Desk(tmp_path).docs
    docs.mkdir()
    (docs / "Light of Skerry part 2.md").write_text(f"# Part two\n\n{LIT}.\n", "utf-8")
    (docs / "2.md").write_text("# Another\n\nNothing.\n", "utf-8")
    report = f"{LIT} [1].\n\n## References\n\n[1] {entry}\n"
    code, data, _ = checked(tmp_path, report, *in_docs(tmp_path))
    assert (code, data["counts"]) == (0, {"supported": 1})
    assert [source["title"] for source in data["sources"]] == [title]


@pytest.mark.fault("67")
def test_a_file_that_is_not_found_is_named_and_the_exit_code_is_6(tmp_path: Path) -> None:
    report = (
        f"{LIT} [1]. It is red [2].\n\n## Sources\n\n1. The Light. gone.md\n2. A picture, old.png"
    )
    code, data, _ = checked(tmp_path, report, *in_docs(tmp_path))
    reason = "no such file was found in the documents"
    assert [(source["location"], source["not_read"]) for source in data["sources"]] == [
        ("gone.md", reason),
        ("old.png", reason),
    ]
    assert (code, data["counts"]) == (6, {"source not reachable": 2})
    assert "gone" not in data["report"] and "It is red [2]." in data["report"]


@pytest.mark.fault("67")
def test_without_a_folder_a_cited_file_asks_for_one(tmp_path: Path) -> None:
    code, data, _ = checked(tmp_path, f"{LIT} [light](skerry.md).")
    [source] = data["sources"]
    assert (code, source["not_read"]) == (6, "it is a file: name the folder with --docs")


def test_two_files_with_the_name_that_an_entry_has_are_named(tmp_path: Path) -> None:
    docs = Desk(tmp_path).docs
    for folder in ("old", "new"):
        (docs / folder).mkdir(parents=True)
        (docs / folder / "plan.md").write_text(f"# {folder}\n\n{LIT}.\n", "utf-8")
    report = f"{LIT} [1]. {LIT} [2].\n\n## Sources\n\n1. plan.md\n2. The new plan, new/plan.md"
    code, data, _ = checked(tmp_path, report, *in_docs(tmp_path))
    first, second = data["sources"]
    assert first["not_read"].startswith("2 files have this name")
    assert (second["title"], second["not_read"], code) == ("new", "", 6)


@pytest.mark.fault("67")
def test_a_number_without_an_entry_is_named_and_stays_in_the_text(tmp_path: Path) -> None:
    report = f"{LIT} [1][7]. It was [2020] in [0, 1] (Ash, 2020).\n\n## Sources\n\n1. skerry.md"
    code, data, err = checked(tmp_path, report, *in_docs(tmp_path))
    words = [marker["words"] for marker in data["not_understood"]]
    assert (code, words) == (6, ["[7]", "(Ash, 2020)"])
    assert "Citation not understood: [7], the report's list of sources has no such entry." in err
    assert f"{LIT} [1][7]. It was \\[2020\\] in \\[0, 1\\] (Ash, 2020)." in data["report"]
    assert [statement["outcome"] for statement in data["statements"]] == ["supported", "no source"]
    assert data["statements"][0]["sources"] == [1]


@pytest.mark.fault("67")
def test_a_report_without_any_citation_says_so_and_its_exit_code_is_6(tmp_path: Path) -> None:
    code, _, err = checked(tmp_path, f"{LIT}.", *in_docs(tmp_path))
    assert code == 6 and "1 statement; 1 no source; no citation found." in err


def test_what_is_wrong_comes_before_what_is_not_understood(tmp_path: Path) -> None:
    report = f"{LIT.replace('1844', '1944')} [1]. It is red [7].\n\n## Sources\n\n1. skerry.md"
    assert checked(tmp_path, report, *in_docs(tmp_path))[0] == 1


@pytest.mark.fault("67")
async def test_page_and_notes_name_what_is_not_understood(tmp_path: Path) -> None:
    report = f"{LIT} [1][7].\n\n## Sources\n\n1. skerry.md"
    context = Context(models="extractive", data_dir=tmp_path)
    found = await check_file(report.encode(), "r.md", context)
    line = "Citation not understood: [7], the report's list of sources has no such entry."
    assert line in found.notes
    assert line in found.html("r.md").replace("&#x27;", "'").replace("&#39;", "'")
    assert line in found.markdown().replace("\\", "")
    assert "1 citation not understood" in found.summary


def test_the_suffixes_of_registered_parsers_are_names_of_files_too() -> None:
    text = "It was lit [1]. It is red [2].\n\n## Sources\n\n1. The log. light.xyz\n2. b.zzz, light"
    found = read_foreign(text, {".xyz"})
    assert [target.address for target in found.targets.values()] == ["light.xyz", ""]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Lit 1844 [1]. See [Table 2](#t2) and [1](#s).\n\n[1]: a.md",
            "Lit 1844 [1]. See [Table 2] and [1].",
        ),
        ("Lit 1844 (see a.md, p. 3).", "Lit 1844 [1]."),
        ("Lit 1844.$^{1}$\n\n# Notes\n\n1. a.md", "Lit 1844.[1]"),
        ("Lit 1844 [1]. Wet [2].\n\n# Notes\n\n1. a.md\n2. Ibid.", "Lit 1844 [1]. Wet [2]."),
        (r"Lit 1844 \[1\].\n\n1. a.md".replace(r"\n", "\n"), "Lit 1844 [1]."),
        ("Lit 1844 [ibid.]", "Lit 1844 [1]"),
        ("Lit [1], p. 4. Wet [1](p. 5).\n\n# Sources\n\n1 a.md", "Lit [1]. Wet [1]."),
        ("Lit [S1] and [Source 2].\n\n# Sources\n\nS1. a.md\nSource 2: b.md", "Lit [1] and [2]."),
        ("Lit <a.md> and [[b.md]] and (file:///docs/c.md).", "Lit [1] and [2] and [3]."),
        ("Lit (see https://a.example/a.md).", "Lit (see [1])."),
        ("Lit[^1^] and [1]–[2].\n\n# Links\n\n1. a.md\n2. b.md", "Lit[1] and [1, 2]."),
        ("Lit [1]_.\n\n.. [1] The light, a.md", "Lit [1]."),
        (
            "Lit.[^1] Wet.[^2]\n\n[^1]: Ash, *Light*, a.md, 3.\n[^2]: Ash, *Light*, 12.",
            "Lit.[1] Wet.[1]",
        ),
        ("Lit [The Light, p. 3].\n\n# Sources\n\n- The light of Vane, 2020, a.md", "Lit [1]."),
        (
            "Lit (Ash, 2020).\n\nSources:\n\nAsh, J. (2020). Light. a.md\n\nIn 1844, it (a.md) was red.",
            "Lit [1].\n\nIn 1844, it [1] was red.",
        ),
        (
            "Lit [@ash].\n\n```bibtex\n@book{ash,\n  title = {Light},\n  file = {a.md},\n}\n```",
            "Lit [1].",
        ),
        (
            "---\nreferences:\n- id: ash\n  title: Light\n  URL: a.md\n---\n\nLit in 1844 [@ash].",
            "---\n---\n\nLit in 1844 [1].",
        ),
        ("Lit on 120² mm and 1500³ units.", "Lit on 120² mm and 1500³ units."),
        (
            "1. First\n2. Second in a.md\n3. Third\n\nText (2).",
            "1. First\n2. Second in a.md\n3. Third\n\nText (2).",
        ),
        ("Lit in 1844¹ on 10³ m².\n\n¹ a.md\n³ b.md", "Lit in 1844[1] on 10³ m²."),
        ("Lit.[^ash] Wet.[^2]\n\n[^ash]:\n    *Light*,\n    a.md\n[^2]: b.md", "Lit.[1] Wet.[2]"),
        ("Lit [1]. *Id.* at 15. Wet.\n\n# Sources\n\n1. a.md", "Lit [1]. [1] Wet."),
        (
            "Lit (Ash, *Light*, p. 4).\n\n# Table of Authorities\n\n- Ash, Light (2019), a.md",
            "Lit [1].",
        ),
        ("Lit.[1]: 14  Wet.[1]\n\n# Notes\n\n1. a.md", "Lit.[1]  Wet.[1]"),
        ("Lit.[1] Wet.[note 1]\n\n# References\n\n1. a.md", "Lit.[1] Wet.[2]"),
        ("The xᵃ of 1ˢᵗ May, at n<sup>a</sup>.", "The xᵃ of 1ˢᵗ May, at na."),
        ("It was lit<sup>a</sup> at last.", "It was lit^a at last."),
        ("Lit :contentReference[oaicite:0]{index=0}.", "Lit [1]."),
    ],
)
def test_further_forms_of_markers_are_read(text: str, expected: str) -> None:
    assert read_foreign(text, SUFFIXES).text == expected


OUR_REPORT = """# When was the light lit?

*This text cites no source.*

> **Note by the publisher:** No legal advice.
> Ask within 14 days.

It was lit in 1844. [1]

> **Note by the publisher:** Printed in 2025 by 3 of us.

## Sources

- [1] The Skerry Light — skerry.md

[1]: <file:///docs/skerry.md>

## Notes

- Read in part: 2 files."""


async def statements(data: bytes, name: str) -> list[str]:
    report = await ReportFile.read(data, name, Context(models="extractive"))
    return [unit.raw for unit in report.statements]


async def test_words_of_the_house_in_our_own_document_are_not_judged() -> None:
    assert await statements(OUR_REPORT.encode(), "r.md") == ["It was lit in 1844. [1]"]
    found = await check_file(OUR_REPORT.encode(), "r.md", Context(models="extractive"))
    assert found.report.text.startswith("*This text cites no source.*\n\n> **Note by the publisher")
    assert found.report.text.endswith("of us.\n\n## Notes\n\n- Read in part: 2 files.")
    foreign = OUR_REPORT.replace("- [1] The", "[1] The")
    assert "- Read in part: 2 files." in await statements(foreign.encode(), "r.md")


async def test_notes_by_the_publisher_in_exported_pages_and_word_files_are_not_judged() -> None:
    page = b"<p>Hinweis des Herausgebers: Kein Rat zu 14.</p><p>Lit in 1844.</p><p>Note by the publisher: No.</p>"
    assert await statements(page, "r.html") == ["Lit in 1844."]
    document = docx.Document()
    for words in ("The light", "4 March 2026", "Note by the publisher: None of 9.", "Lit in 1844."):
        document.add_paragraph(words)
    document.save(made := BytesIO())
    judged = await statements(made.getvalue(), "r.docx")
    assert "Lit in 1844." in judged and not any("publisher" in words for words in judged)
