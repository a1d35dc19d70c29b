"""What a researcher has read shrinks in one go when it fills the prompt, twice at most, and stays so in between."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from lab import REPORT, in_order, lab, research, results, search
from scripted import call, calls

FILLER = "The gulls of the coast are many, and nobody has ever counted all of them by day or by night. " * 30
PLACES = ("Skerry", "Anlow", "Tralee", "Moran", "Ostvik", "Holm")


def write_pages(folder: Path) -> None:
    folder.mkdir()
    for place in PLACES:
        text = f"# {place}\n\n{FILLER}\n\nThe light of {place} was lit in 1844.\n\n{FILLER}"
        (folder / f"{place.lower()}.md").write_text(text)


def opened(place: str) -> object:
    return calls(call("open_url", urls=[f"docs:pages/{place.lower()}.md"], id=place))


async def test_older_results_shrink_to_what_bears_on_the_task_and_the_prefix_stays(tmp_path: Path) -> None:
    run = lab(
        tmp_path,
        orchestrator=[research("When was the light lit?"), REPORT],
        researcher=[search("light"), *map(opened, PLACES), REPORT, "It was lit in 1844. [1]"],
        limits={"results_tokens": 2_500},
    )
    run.folder = tmp_path / "pages"
    write_pages(run.folder)
    state = await run.ask()
    prompts = [[message.text for message in call.messages[:-1]] for call in run.calls("researcher")]
    breaks = [number for number, (before, after) in enumerate(pairwise(prompts)) if after[: len(before)] != before]
    assert len(breaks) == 2
    last = results(run.calls("researcher")[-1].messages)
    shown = [len(last[place]) for place in PLACES]
    assert max(shown[:2]) < 1_300 < 2_500 < min(shown[-1:])
    assert all("was lit in 1844" in last[place] for place in PLACES)
    assert prompts[-1][: len(prompts[-2])] == prompts[-2], "the finding is written from what was in view"
    assert in_order(state)[0].ended == "done"
