"""Draw one figure of the study as PDF, PNG and SVG."""

from cinorms.core.logs import start_logging
from cinorms.entries.kinds import KINDS, read_further, read_selected
from cinorms.figures.theme import data_of, save

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    entry = snakemake.params.entry
    kind = KINDS["figures"][entry["kind"]]
    paths = {name: list(files) for name, files in snakemake.input.items()}
    selected = read_selected(kind, entry, paths["frames"])
    drawn = kind.load()(selected, entry, **read_further(kind, entry, paths))
    save(drawn, snakemake.output.pdf, snakemake.output.png, snakemake.output.svg, snakemake.output.caption)
    data_of(drawn).to_csv(snakemake.output.data, index=False)
    print(drawn.caption)
