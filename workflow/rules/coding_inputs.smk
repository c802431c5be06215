# Input and parameter functions of the coder's rules.
from cinorms.study.spec import coder_journal, make_coder_spec, make_coder_tuning

# The levels of every scale of the study: what a person can write as a level.
LEVELS_OF_STUDY = sorted(
    {level for arm in STUDY.arms for level in STUDY.scale(arm).levels}
)
CODING = f"{RESULTS}/coding"
CODED_SCALES = list(STUDY.coded_scales()) if STUDY.coder else []
CODES = [f"{CODING}/codes.parquet"] if CODED_SCALES else []
AGREEMENT = [f"{CODING}/agreement.csv"] if CODED_SCALES else []
CODER_REPLIES = [f"{CODING}/{scale}/1-of-1.parquet" for scale in CODED_SCALES]
CODER_KIND = STUDY.registry_entry(STUDY.coder).kind if STUDY.coder else None


def get_coded_files(wildcards):
    """Return the files of the models whose replies on a scale the coder may see: vignettes, prompts, responses."""
    return [
        [
            f"{RESULTS}/vignettes/{STUDY.arms[arm].dataset}.parquet",
            f"{RESULTS}/prompts/{arm}.parquet",
            *get_shards(arm, model),
        ]
        for arm, model in STUDY.coded_scales()[wildcards.scale]
    ]


def get_coded_inputs(wildcards):
    """Return all of `get_coded_files`, each once."""
    files = get_coded_files(wildcards)
    return list(dict.fromkeys(path for paths in files for path in paths))


def get_coded_places(wildcards):
    """Return `get_coded_files` where they are."""
    return [list(map(placed, paths)) for paths in get_coded_files(wildcards)]


def get_coded_scale(wildcards):
    """Return what a job is told of a scale whose name is a wildcard."""
    return make_coder_spec(STUDY, wildcards.scale).as_plain()["scale"]


def get_coder_settings(wildcards):
    """Return the settings of the coder's entry in the registry."""
    return STUDY.registry_entry(STUDY.coder).settings


def get_coder_checkpoint_input(kind):
    """Return the input `checkpoint`, for an engine that loads one."""
    return (
        {"checkpoint": f"{RESULTS}/checkpoints/{STUDY.coder}.json"}
        if kind.checkpoint
        else {}
    )


def get_coder_spec(wildcards):
    """Return everything that can change a reply of the coder, as one value."""
    return json.dumps(
        make_coder_spec(STUDY, wildcards.scale).as_plain(), sort_keys=True
    )


def get_coder_tuning(wildcards, output):
    """Return how the coder is reached and paid. Taking `output` keeps a change of it from running the job again."""
    tuning = make_coder_tuning(
        STUDY, wildcards.scale, placed(CODING), placed(RESPONSES)
    )
    return json.dumps(tuning, sort_keys=True)


def get_coder_specs(wildcards):
    """Return the coder's spec for each scale, as plain data."""
    return {scale: make_coder_spec(STUDY, scale).as_plain() for scale in CODED_SCALES}


def get_coded(wildcards):
    """Return what the provenance needs to know about the coder, for each scale."""
    return [
        {
            "scale": scale,
            "model": STUDY.coder,
            "planted": False,
            "responses": [placed(path)],
            "journal": (
                coder_journal(STUDY, scale, placed(CODING), placed(RESPONSES))
                if CODER_KIND.journalled
                else None
            ),
        }
        for scale, path in zip(CODED_SCALES, CODER_REPLIES)
    ]
