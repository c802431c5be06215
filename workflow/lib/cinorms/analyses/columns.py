"""Columns that the tables of several kinds share, each described once."""

_USUAL = {
    "arm": "Name of the arm.",
    "model": "Name of the model.",
    "factor": "Name of the factor; linked factors have their names joined.",
    "level": "Level of the factor.",
    "baseline": "Level that the factor's other levels are compared with.",
    "status": "ok, or why the row has no numbers.",
    "reason": "The status in words; empty where it is ok.",
    "t_val": "Valid answers that a flow needs for a norm.",
    "t_maj": "Share of the valid answers that must agree, or plurality.",
    "estimate": "The estimate.",
    "std_err": "Standard error of the estimate.",
    "conf_low": "Lower end of the 95% interval.",
    "conf_high": "Upper end of the 95% interval.",
    "statistic": "The test statistic.",
    "p": "p-value; smaller ones are given as 2.2e-308, the smallest number with full precision.",
    "log10_p": "Logarithm of the p-value to base 10, exact for very small p-values too.",
    "p_text": "The p-value as text.",
}


def usual(*names: str) -> dict[str, str]:
    """Return columns with the sentence that they have in most tables."""
    return {name: _USUAL[name] for name in names}


#: The last column of every table of an analysis.
ANY_PLANTED = {"any_planted": "Whether any respondent of the table is planted (simulated, with known norms)."}
WHO = usual("arm", "model")
INTERVAL = {
    "std_err": "Standard error of the estimate over other wordings.",
    "conf_low": "Lower end of the 95% interval over other wordings.",
    "conf_high": "Upper end of that interval.",
}
#: The two sides of a comparison, and the level in which they differ where the analysis names a ``factor``.
PAIR = {
    "factor": "Attribute in which the two sides differ (only where the analysis names one).",
    "arm_a": "Arm of the first side.",
    "model_a": "Model of the first side.",
    "arm_b": "Arm of the second side.",
    "model_b": "Model of the second side.",
    "level_a": "Level of the attribute on the first side (only where the analysis names one).",
    "level_b": "Level of the attribute on the second side (only where the analysis names one).",
}
PAIR_NAMES = ("arm_a", "model_a", "arm_b", "model_b")
#: What `shared.corrected` adds.
CORRECTED = {
    "p_bonferroni": "p-value after Bonferroni, over all rows of the table that have one.",
    "log10_p_bonferroni": "Logarithm of p_bonferroni to base 10.",
    "p_holm": "p-value after Holm, over all rows of the table that have one.",
    "log10_p_holm": "Logarithm of p_holm to base 10.",
    "p_bh": "p-value after Benjamini and Hochberg, over all rows of the table that have one.",
}
