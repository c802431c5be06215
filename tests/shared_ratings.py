"""People's ratings without ids, for tests: they are no part of the project, because their authors state no licence."""

from pathlib import Path

import pandas as pd
import pytest

from cinorms.vignettes.designs import factor_columns, load_dataset

ROOT = Path(__file__).parents[1]
FOLDER = ROOT.parent / "shared" / "human"
needs_ratings = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="people's ratings are not here (../shared/human)"
)
#: Information types of ConfAIde's flows, as the reference file calls them.
TYPES = ("friends", "purchases", "politics", "religion", "health", "security number", "location")
#: What ConfAIde's own files call the columns.
ORIGINAL = {
    "flow": "Input.idx",
    "rater": "WorkerId",
    "people": "Answer.peoplePrivacyQuestion",
    "personal": "Answer.personalPrivacyQuestion",
    "incoherent": "Answer.coherencyQuestion",
}


def confaide(tier: str) -> pd.DataFrame:
    """Return the ratings of a tier with the information type of their flows."""
    ratings = pd.read_csv(FOLDER / "confaide_ratings.csv")
    ratings = ratings[ratings["tier"] == tier].reset_index(drop=True)
    levels = factor_columns(load_dataset(ROOT / f"resources/vignettes/confaide_{tier}.yaml"))
    codes = levels["information_type"].cat.codes.to_numpy()
    kind = pd.Categorical.from_codes(codes[ratings["flow"]], list(TYPES))
    return ratings.assign(value=ratings["people"] / 50, type=kind)
