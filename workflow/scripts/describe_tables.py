"""Write the dictionary of every column in the tables of a study."""

from cinorms.core.checksums import write_tidy
from cinorms.core.csv_files import read_header
from cinorms.core.logs import start_logging
from cinorms.report.dictionary import described_files, dictionary
from cinorms.study.metadata import StudyMetadata

if __name__ == "__main__":
    start_logging(snakemake.log[0])
    study = StudyMetadata.model_validate(snakemake.params.study)
    headers = dict(zip(described_files(study), map(read_header, snakemake.input.files), strict=True))
    table = dictionary(study, headers)
    write_tidy(table, snakemake.output.parquet, snakemake.output.csv)
    print(f"{len(table)} columns of {table['file'].nunique()} files")
