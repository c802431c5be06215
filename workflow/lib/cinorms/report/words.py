"""The report's wording: names, numbers, shares and statuses in plain words."""

from typing import Any

from cinorms.core.labels import NO_NORM, NORM_LABELS

NORM_STATUSES = {
    "kept": "norm held",
    **{status: f"{NO_NORM}: {reason}" for status, reason in NORM_LABELS.items()},
}
WORDS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
#: With fewer flows there is no headline, and no sentence about a model's flows.
FEWEST_SAID = 10
#: What a column is called above a table, where its name is not words.
HEADERS = {
    "again": "norms expected again",
    "aic": "AIC",
    "arm_a": "first arm",
    "arm_b": "second arm",
    "below_t_val": "too few valid answers",
    "conf_high": "95% interval to",
    "conf_low": "95% interval from",
    "cramers_v": "Cramér's V",
    "df": "degrees of freedom",
    "df_error": "degrees of freedom of the error",
    "from": "from level",
    "from_zero": "from neutral",
    "half_predicted": "predicted for the other half",
    "half_seen": "seen in the other half",
    "high": "95% interval to",
    "kappa_linear": "kappa, linear weights",
    "kappa_quadratic": "kappa, quadratic weights",
    "kappa_reworded": "kappa, reworded",
    "log10_p": "log10 of p",
    "low": "95% interval from",
    "mcfadden_r2": "McFadden's R²",
    "model_a": "first model",
    "model_b": "second model",
    "n": "number",
    "n_asked": "answers asked for",
    "n_flows": "flows",
    "n_missing": "missing answers",
    "n_templates": "wordings",
    "n_ties": "ties",
    "n_valid": "valid answers",
    "n_zero": "zeros",
    "p_bh": "p (false discovery rate)",
    "p_bonferroni": "p (Bonferroni)",
    "p_equivalent_holm": "p of equivalence (Holm)",
    "p_holm": "p (Holm)",
    "p_text": "p",
    "std_err": "standard error",
    "t_maj": "share that must agree",
    "t_val": "valid answers needed",
    "templates": "wordings",
    "effective_templates": "wordings, as many unlike ones",
    "to": "to level",
}


def plain(name: str) -> str:
    """Return the name of a factor or column as words."""
    return name.replace("_", " ")


def header(column: str) -> str:
    """Return what a column is called above a table."""
    return HEADERS.get(column, plain(column))


def count(n: int) -> str:
    """Return a count with separated thousands."""
    return f"{n:,}"


def counted(n: int, noun: str) -> str:
    """Return a count and what is counted: ``1 flow``, ``2,000 flows``."""
    return f"{count(n)} {noun}{'' if n == 1 else 's'}"


def in_words(n: int) -> str:
    """Return a small number as a word, others as `count` does."""
    return WORDS[n] if n < len(WORDS) else count(n)


def signed(level: int) -> str:
    """Return a level with its sign."""
    return f"{level:+d}" if level else "0"


def number(value: Any) -> str:
    """Return a cell of a table: a long decimal number with four digits, anything else unchanged."""
    text = str(value)
    if not any(mark in text for mark in ".e"):
        return text
    try:
        found = float(text)
    except ValueError:
        return text
    short = f"{found:.4g}"
    return short if len(short) < len(text) else text
