"""Write the replies of a model in an arm for the report: scripts that the page loads when they are asked for."""

from pathlib import Path

from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.core.scales import Scale
from cinorms.report.replies import write_replies

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    columns = ["flow", "variant", "order", "level", "status", "rule"]
    n_files = write_replies(
        tables.read(snakemake.input.responses, tables.RESPONSES),
        tables.read(snakemake.input.answers, tables.ANSWERS, columns),
        tables.read(snakemake.input.variants, tables.PROMPTS),
        Scale.from_plain(snakemake.params.scale),
        Path(snakemake.output.replies),
    )
    print(f"{n_files} files")
