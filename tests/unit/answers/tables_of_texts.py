"""Tables of responses that tests of this folder read."""

import numpy as np
import pandas as pd

from cinorms.core.scales import papers_scale

ACCEPT = papers_scale("acceptability")
TEXTS = ["somewhat acceptable", "Neutral.", "s", "", "not neutral", "somwhat acceptable", "I can't help."]


def responses(texts, finish="stop", order="01234", p_options=None, categories=None):
    n = len(texts)
    return pd.DataFrame(
        {
            "flow": np.arange(n, dtype=np.int32),
            "variant": pd.Categorical(["v"] * n),
            "order": pd.Categorical([order] * n if isinstance(order, str) else order),
            "text": pd.Categorical(texts, categories=categories),
            "finish_reason": pd.Categorical([finish] * n if isinstance(finish, str) else finish),
            "n_prompt_tokens": pd.array([None] * n, dtype="Int32"),
            "n_output_tokens": pd.array([None] * n, dtype="Int32"),
            "p_options": p_options if p_options is not None else [None] * n,
        }
    )
