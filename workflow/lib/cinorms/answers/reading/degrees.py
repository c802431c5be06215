"""English words of degree: which make another option of the one they precede, and which do not."""

from __future__ import annotations

#: Words that make another option of the one they stand before: "very strongly acceptable" is not on the scale.
INTENSIFIERS = frozenset(
    [
        "very",
        "extremely",
        "quite",
        "rather",
        "highly",
        "too",
        "most",
        "more",
        "less",
        "fairly",
        "pretty",
        "incredibly",
    ]
)
#: Words before "acceptable" that do not make another option of it.
FUNCTION_WORDS = frozenset(
    {
        "it",
        "is",
        "be",
        "this",
        "that",
        "the",
        "an",
        "a",
        "not",
        "are",
        "was",
        "i",
        "am",
        "answer",
        "scenario",
        "situation",
        "flow",
        "yes",
        "no",
    }
)
#: Adverbs that do not end in -ly.
ADVERBS = frozenset(
    {
        "very",
        "quite",
        "rather",
        "sometimes",
        "somehow",
        "somewhere",
        "most",
        "more",
        "less",
        "so",
        "too",
        "partly",
        "just",
    }
)
#: Adverbs that say how sure the model is, not how far: "clearly acceptable" is acceptable.
ASSURING = frozenset(
    [
        "clearly",
        "definitely",
        "certainly",
        "probably",
        "obviously",
        "surely",
        "honestly",
        "truly",
        "plainly",
        "actually",
        "simply",
        "indeed",
        "therefore",
        "ultimately",
        "overall",
        "personally",
        "likely",
        "undoubtedly",
        "evidently",
        "decidedly",
        "still",
        "also",
        "just",
    ]
)
#: Adverbs that make a verdict stronger: what is "completely acceptable" is acceptable, where the scale has no more.
STRENGTHENING = frozenset(
    [
        "completely",
        "totally",
        "fully",
        "entirely",
        "absolutely",
        "perfectly",
        "wholly",
        "utterly",
        "thoroughly",
        "very",
        "extremely",
        "highly",
        "strongly",
        "really",
    ]
)
#: Words of degree that do not end in -ly, beside ADVERBS.
DEGREES = frozenset(["somewhat", "pretty", "kinda", "sorta", "almost", "half", "semi", "borderline"])
