"""Columns that the tables of several kinds share, each described once."""

from __future__ import annotations

from cinorms.entries.kind import Column

ARM = Column("arm", "Name of the arm.")
MODEL = Column("model", "Name of the model.")
FACTOR = Column("factor", "Name of the factor; linked factors have their names joined.")
LEVEL = Column("level", "Level of the factor.")
BASELINE = Column("baseline", "Level that the factor's other levels are compared with.")
STATUS = Column("status", "ok, or why the row has no numbers.")
REASON = Column("reason", "The status in words; empty where it is ok.")
T_VAL = Column("t_val", "Valid answers that a flow needs for a norm.")
T_MAJ = Column("t_maj", "Share of the valid answers that must agree, or plurality.")

ESTIMATE = Column("estimate", "The estimate.")
STD_ERR = Column("std_err", "Standard error of the estimate.")
CONF_LOW = Column("conf_low", "Lower end of the 95% interval.")
CONF_HIGH = Column("conf_high", "Upper end of the 95% interval.")
STATISTIC = Column("statistic", "The test statistic.")
P = Column("p", "p-value; smaller ones are given as 2.2e-308, the smallest number with full precision.")
LOG10_P = Column("log10_p", "Logarithm of the p-value to base 10, exact for very small p-values too.")
P_TEXT = Column("p_text", "The p-value as text.")

#: The last column of every table of an analysis.
ANY_PLANTED = Column(
    "any_planted", "Whether any respondent of the table is planted (simulated, with known norms)."
)

WHO = (ARM, MODEL)
#: The two sides of a comparison, and the level in which they differ where the analysis names a ``factor``.
PAIR = (
    Column("factor", "Attribute in which the two sides differ (only where the analysis names one)."),
    Column("arm_a", "Arm of the first side."),
    Column("model_a", "Model of the first side."),
    Column("arm_b", "Arm of the second side."),
    Column("model_b", "Model of the second side."),
    Column("level_a", "Level of the attribute on the first side (only where the analysis names one)."),
    Column("level_b", "Level of the attribute on the second side (only where the analysis names one)."),
)
PAIR_NAMES = ("arm_a", "model_a", "arm_b", "model_b")
INTERVAL = (STD_ERR, CONF_LOW, CONF_HIGH)


def names(*columns: Column) -> tuple[str, ...]:
    """Return the names of columns, e.g. for ``Kind.shown``."""
    return tuple(column.name for column in columns)


#: What `shared.corrected` adds.
CORRECTED = (
    Column("p_bonferroni", "p-value after Bonferroni, over all rows of the table that have one."),
    Column("log10_p_bonferroni", "Logarithm of p_bonferroni to base 10."),
    Column("p_holm", "p-value after Holm, over all rows of the table that have one."),
    Column("log10_p_holm", "Logarithm of p_holm to base 10."),
    Column("p_bh", "p-value after Benjamini and Hochberg, over all rows of the table that have one."),
    Column("log10_p_bh", "Logarithm of p_bh to base 10."),
)
