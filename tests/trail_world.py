"""Small folders of documents for questions that need several of them, and what is found there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from shelf import Place

LINKED = {
    "Velm Observatory": "The Velm Observatory stands on a hill above the river. It was founded by Ada Lindqvist.",
    "Ada Lindqvist": "Ada Lindqvist was an engineer. She was born at Porto Alto, where her mother built boats.",
    "Porto Alto": "Porto Alto is a town on the coast. Its harbour was deepened for ships that carried salt.",
}
NAMESAKES = {
    "Lindqvist Street": "Lindqvist Street leads from the market to the station. It was paved in a dry summer.",
    "Alto": "An alto is a voice between soprano and tenor. Few choirs have enough of them.",
}
SHARING = {
    f"Founders {number}": f"{who} founded an observatory. The founder was born in a year of plague, {where}."
    for number, (who, where) in enumerate(
        [
            ("A merchant", "as one of nine children"),
            ("A bishop", "or so his letters say"),
            ("A widow", "if the register is right"),
            ("A sailor", "far from any town"),
            ("A king", "in a cold winter"),
            ("A teacher", "under another name"),
        ]
    )
} | {
    f"Harbours {number}": (
        f"The harbour of a town where a founder was born carried {goods}; what ships carried paid for it."
    )
    for number, goods in enumerate(["timber", "wine", "tin", "wool", "coal", "iron"])
}


class Folder(NamedTuple):
    """An indexed folder of short documents, each of which is known by its title."""

    place: Place

    @classmethod
    def of(cls, texts: Mapping[str, str], path: Path) -> Folder:
        docs = path / "docs"
        docs.mkdir(parents=True)
        for number, (title, text) in enumerate(texts.items()):
            (docs / f"{number:03}.md").write_text(f"# {title}\n\n{text}\n", "utf-8")
        place = Place(docs, path / "data")
        place.indexed()
        return cls(place)

    def titles(self, question: str) -> list[str]:
        """The titles of the documents that a question leads to, best first."""
        return list(dict.fromkeys(one.source.title for one in self.place.library().follow(question, 25)))
