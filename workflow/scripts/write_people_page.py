"""Write the page on people and models."""

from pathlib import Path

from cinorms.core import tables
from cinorms.core.checksums import read_tidy
from cinorms.core.errors import ConfigError
from cinorms.core.logs import start_logging
from cinorms.report.people_page import render

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    asked = snakemake.params.asked
    if len(snakemake.input.tables) < 2:
        raise ConfigError(
            f"study {asked['study']!r}: analyses: the target 'people' needs one of kind people_distances and one of "
            "kind people_flows; add them"
        )
    distances, flows = (read_tidy(path) for path in snakemake.input.tables)
    vignettes = tables.read(snakemake.input.vignettes[0], tables.VIGNETTES)
    standing, groups = (
        list(map(read_tidy, paths)) for paths in (snakemake.input.standing, snakemake.input.groups)
    )
    page = render(asked, distances, flows, vignettes, standing, groups)
    Path(snakemake.output.page).write_text(page, encoding="utf-8")
    print(f"{len(distances):,} distances, {len(flows):,} flows compared")
