"""The attributes of models and arms that an analysis can name: all that kinds take from this package at run time."""

#: Attributes of a model's registry entry that an analysis can name.
MODEL_ATTRIBUTES = ("family", "capacity", "alignment", "quantisation", "dtype")
#: Attributes of an arm: the conditions in which its models were asked.
ARM_ATTRIBUTES = (
    "dataset",
    "scale",
    "paraphraser",
    "temperature",
    "order",
    "readout",
    "wrapper",
    "layout",
    "system",
    "reasoning",
)
#: Attributes that tell models apart: the columns of a table of models. Models compared in one agree in the others.
DESCRIBED = ("family", "capacity", "alignment", "quantisation")
