"""Judge whether a model's norms changed against a base."""

from pathlib import Path

from cinorms.core.logs import start_logging
from cinorms.gate.files import FILES, as_document, summary, write
from cinorms.gate.policy import load_policy
from cinorms.gate.side import Address
from cinorms.gate.verdicts import run

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    sides = snakemake.params.sides
    base, new = (Address(Path(folder), arm, model) for folder, arm, model in (sides["base"], sides["new"]))
    gate = run(base, new, load_policy(sides["policy"]))
    write(
        gate,
        dict(zip(FILES, (snakemake.output.json, snakemake.output.junit, snakemake.output.page), strict=True)),
    )
    print(summary(as_document(gate)))
