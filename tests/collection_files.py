"""The documents of a research ship and its institutes: those of `tests/collection` and those that programs write."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from docx import Document
from openpyxl import Workbook
from pptx import Presentation

COLLECTION = Path(__file__).parent / "collection"
DOCUMENTS = COLLECTION / "documents"
QUESTIONS = COLLECTION / "questions.jsonl"

TRAVEL = (
    ("Fahrtkosten", "Für Fahrten mit dem eigenen Wagen werden 0,38 Euro je Kilometer erstattet. Bahnfahrten werden in "
     "der zweiten Klasse bezahlt, ab fünf Stunden in der ersten."),
    ("Tagegeld", "Das Tagegeld beträgt 28 Euro für einen vollen Tag. An Bord der Tordalk wird kein Tagegeld gezahlt."),
    ("Fristen", "Der Antrag ist binnen sechs Wochen nach der Reise zu stellen."),
    ("Geltung", "Diese Ordnung gilt ab dem 1. Juli 2025 und ersetzt die Fassung vom 1. Februar 2023."),
)  # fmt: skip
HANDBOOK = (
    ("Before you sail", "Send the list of your equipment to the mate four weeks before the cruise. Bring boots with "
     "steel caps; everything else that is worn on deck is lent by the ship."),
    ("Cabins", "Scientists sleep in seven double cabins on the lower deck. Sheets are changed on Sundays."),
    ("Alarm", "The muster station of the scientific party is the mess on the main deck. A drill is held within "
     "twenty-four hours of sailing."),
)  # fmt: skip
MINUTES = (
    ("Anwesend", "Brock, Brandis, Renedo, Wickmann. Entschuldigt: Solvang."),
    ("Probenlager", "Okke Brandis gibt die Schlüssel zum Probenlager ab sofort gegen Unterschrift aus."),
    ("Rosette", "Die Ersatzrosette kommt erst im April, weil ein Ventil nachgeliefert werden muss."),
)
WINCHES = (
    ("Winch", "Wire length (m)", "Safe working load (t)", "Last load test"),
    ("Port hydrographic winch", 3000, 2.5, "2025-06-10"),
    ("Starboard hydrographic winch", 4000, 2.5, "2025-06-11"),
    ("Deep-sea cable winch", 8200, 7.5, "2024-11-28"),
    ("Capstan", 120, 1.2, "2025-06-11"),
)
OPEN_DAY = (
    ("Open day at Hall 3", ("Saturday, 18 April 2026, from 10 to 16", "Entrance is free.")),
    ("The core store", ("The core store holds 1,310 sediment cores.", "Paula Renedo shows how a core is split.")),
    ("The ship", ("RV Tordalk lies at the quay.", "Guided tours every half hour.")),
)


def write_collection(folder: Path) -> Path:
    """The whole collection."""
    shutil.copytree(DOCUMENTS, folder)
    _write_docx(
        folder / "verwaltung" / "reisekostenordnung-2025.docx", "Reisekostenordnung", datetime(2025, 6, 20), TRAVEL
    )
    _write_docx(folder / "ship" / "handbook.docx", "Handbook for the scientific party", datetime(2025, 3, 9), HANDBOOK)
    _write_docx(
        folder / "protokolle" / "protokoll-2026-01-20.docx",
        "Protokoll der Sitzung vom 20. Januar 2026",
        datetime(2026, 1, 21),
        MINUTES,
    )
    _write_xlsx(folder / "labs" / "winches.xlsx")
    _write_pptx(folder / "web" / "open-day.pptx")
    return folder


def _write_docx(file: Path, title: str, date: datetime, sections: tuple[tuple[str, str], ...]) -> None:
    document = Document()
    document.core_properties.title = title
    document.core_properties.created = document.core_properties.modified = date
    document.add_heading(title, 1)
    for heading, text in sections:
        document.add_heading(heading, 2)
        document.add_paragraph(text)
    document.save(str(file))


def _write_xlsx(file: Path) -> None:
    book = Workbook()
    book.properties.title = "Winches of RV Tordalk"
    book.properties.modified = datetime(2025, 6, 30, tzinfo=UTC)
    sheet = book.active
    sheet.title = "Winches"
    for row in WINCHES:
        sheet.append(row)
    book.save(file)


def _write_pptx(file: Path) -> None:
    deck = Presentation()
    deck.core_properties.title = "Open day 2026"
    deck.core_properties.modified = datetime(2026, 2, 16)
    for heading, lines in OPEN_DAY:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = heading
        slide.placeholders[1].text = "\n".join(lines)
    deck.save(str(file))
