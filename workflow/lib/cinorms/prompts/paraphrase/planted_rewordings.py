"""The planted paraphraser: rewordings from a fixed list; no model is asked."""

from __future__ import annotations

import random

from cinorms.prompts.paraphrase.paraphraser import Ask, Candidates

#: Halves of the planted rewordings, by scale: every opening goes with every closing.
OPENINGS = {
    "acceptability": (
        "Here is a situation: {scenario}. Say how acceptable it is.",
        "Consider what happens here: {scenario}. How acceptable is that?",
        "Think about this flow of information: {scenario}. Judge its acceptability.",
        "What is your view of the acceptability of this: {scenario}?",
        "Give your judgement on how acceptable the following is: {scenario}.",
        "Suppose that {scenario}. Tell me how acceptable you find that.",
    ),
    "agreement": (
        "Here is a situation: {scenario} Say how far people would agree that it is as they expect.",
        "Consider what happens here: {scenario} Would people agree that their privacy is kept as expected?",
        "Think about this flow of information: {scenario} Judge how far people would agree it is expected.",
        "How far would people agree that their privacy expectations are met by this: {scenario}",
        "Judge how far people would agree that this is in line with their privacy expectations: {scenario}",
        "Read this: {scenario} Tell me how far people would agree that their privacy expectations are met.",
    ),
}
#: For a prompt set of another scale.
OTHER_OPENINGS = (
    "Here is a situation: {scenario}. Give your rating of it.",
    "Consider what happens here: {scenario}. How do you rate that?",
    "Think about this flow of information: {scenario}. Rate it.",
    "How would you rate this: {scenario}?",
    "Give your judgement on the following: {scenario}.",
    "Suppose that {scenario}. Tell me how you rate that.",
)
CLOSINGS = (
    "Reply with one of these options and nothing else: {options}",
    "Write exactly one of the options below, with no further text: {options}",
    "Your whole reply must be one option from this list: {options}",
    "Use one of the following options as your complete answer: {options}",
    "Pick a single option and add nothing to it: {options}",
    "The only permitted answers are these, so give one of them: {options}",
)


class PlantedParaphraser:
    """No model: a fixed list of 36 rewordings for each scale, in an order that the seed decides."""

    packages = ()
    instruction = "None: a fixed list of rewordings (planted; no model was asked)."

    def ask(self, ask: Ask) -> Candidates:
        """Return ``ask.wanted`` rewordings that are not taken, or as many as are left; ``""`` for none."""
        listed = [
            f"{opening} {closing}"
            for opening in OPENINGS.get(ask.scale, OTHER_OPENINGS)
            for closing in CLOSINGS
        ]
        random.Random(ask.seed).shuffle(listed)
        left = [template for template in listed if template not in ask.templates]
        return Candidates(tuple(left[: ask.wanted]) or ("",))
