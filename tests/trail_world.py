"""Small worlds of documents for a question that needs three of them, in memory and as folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from shelf import Place

from deep_research.core.evidence.text.similarity import rarity
from deep_research.core.evidence.text.words import plain_run
from deep_research.core.library.candidates import Candidate

QUESTION = (
    "What did the ships carry for which the harbour was deepened in the town where the founder of the Velm Observatory "
    "was born?"
)
"""Its answer stands in the last of the linked documents, to which only the two before it lead."""

LINKED = {
    "Velm Observatory": "The Velm Observatory stands on a hill above the river. It was founded by Ada Lindqvist.",
    "Ada Lindqvist": "Ada Lindqvist was an engineer. She was born at Porto Alto, where her mother built boats.",
    "Porto Alto": "Porto Alto is a town on the coast. Its harbour was deepened for ships that carried salt.",
}
"""Each names the next."""
NAMESAKES = {
    "Lindqvist Street": "Lindqvist Street leads from the market to the station. It was paved in a dry summer.",
    "Alto": "An alto is a voice between soprano and tenor. Few choirs have enough of them.",
}
"""They share parts of names with the linked ones, and nothing else."""
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
"""They hold more words of the question than the linked ones do, and lead nowhere."""


class MemoryShelf:
    """Documents of one passage each, as the search for trails wants them."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self.size = len(candidates)
        self._all = sorted(candidates, key=lambda one: one.key)

    def counted(self, words: Sequence[str]) -> int:
        return sum(word in one.words for word in dict.fromkeys(words) for one in self._all)

    def search(self, words: Sequence[str], limit: int) -> list[Candidate]:
        weights = {word: rarity(self.size, self.counted([word])) for word in words}
        worth = {one: sum(weights[word] for word in weights if word in one.words) for one in self._all}
        return sorted((one for one in worth if worth[one]), key=lambda one: (-worth[one], one.key))[:limit]

    def titled(self, text: str) -> list[Candidate]:
        return [one for one in self._all if one.title_run in plain_run(text)]

    def holders(self, name: str) -> int:
        return len(self.holding(name, (), self.size))

    def holding(self, name: str, words: Sequence[str], limit: int) -> list[Candidate]:
        run = plain_run(name)
        found = [one for one in self._all if run.strip() and (run in one.title_run or run in one.run)]
        return sorted(found, key=lambda one: (-sum(word in one.words for word in words), one.key))[:limit]


def memory_shelf(texts: Mapping[str, str]) -> MemoryShelf:
    """Documents by their titles."""
    return MemoryShelf([Candidate((title, 0), title, title, text, "en") for title, text in texts.items()])


class Folder(NamedTuple):
    """A folder of short documents, each of which is known by its title."""

    place: Place

    @classmethod
    def at(cls, path: Path) -> Folder:
        """A folder without documents."""
        (path / "docs").mkdir(parents=True)
        return cls(Place(path / "docs", path / "data"))

    @classmethod
    def of(cls, texts: Mapping[str, str], path: Path) -> Folder:
        """An indexed folder of these documents."""
        folder = cls.at(path)
        folder.add(texts)
        return folder

    def add(self, texts: Mapping[str, str]) -> None:
        """Put documents into the folder, and into its index."""
        for title, text in texts.items():
            (self.place.docs / f"{title}.md").write_text(f"# {title}\n\n{text}\n", "utf-8")
        self.place.indexed()

    def titles(self, question: str) -> list[str]:
        """The titles of the documents that a question leads to, best first."""
        return list(dict.fromkeys(one.source.title for one in self.place.library().follow(question, 25)))

    def searched(self, question: str) -> list[str]:
        """The titles of the documents that hold the words of a question, best first."""
        return list(dict.fromkeys(one.source.title for one in self.place.library().search(question, 25)))
