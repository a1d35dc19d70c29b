"""The command `python -m deep_research_bench`."""

from __future__ import annotations

import click

from deep_research_bench.index import main as index
from deep_research_bench.streams import main as streams
from deep_research_bench.team import main as team
from deep_research_bench.wire.__main__ import main as wire


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def cli() -> None:
    """Measure the speed and resources of deep-research on fake servers and generated documents."""


for name, command in (("wire", wire), ("index", index), ("team", team), ("streams", streams)):
    cli.add_command(command, name)

if __name__ == "__main__":
    cli(prog_name="python -m deep_research_bench")
