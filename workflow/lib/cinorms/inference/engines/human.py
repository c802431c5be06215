"""The engine ``human``: people who have answered; their ratings are read from a survey's file, and nobody is asked."""

from cinorms.inference.engine_kind import EngineKind, Needs, always

ENGINE = EngineKind(
    name="human",
    needs=Needs(memory_mb=always(1000), minutes=always(5)),
    origin=lambda entry: "people",
)
