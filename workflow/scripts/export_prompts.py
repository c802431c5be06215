"""Write the prompts of an arm in the format of another tool."""

from pathlib import Path

from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.exchange.exporting import export_prompts
from cinorms.exchange.registry import format_named
from cinorms.inference.request import Request

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    ways = export_prompts(
        format_named(snakemake.wildcards.format),
        [Request.from_plain(plain) for plain in snakemake.params.requests],
        tables.read(snakemake.input.vignettes, tables.VIGNETTES),
        tables.read(snakemake.input.variants, tables.PROMPTS),
        snakemake.wildcards.arm,
        Path(snakemake.output.folder),
    )
    for way in ways:
        print(f"{way.name}: {len(way):,} prompts for {', '.join(way.requests)}")
