"""The texts of planted respondents: the same kinds of text that the papers report from real models."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cinorms.core.scales import MOST_OPTIONS, PAPERS, Scale

PLAIN = (
    "{option}",
    "{option}",
    "{option}",
    "{option}",
    "{Option}",
    "{Option}",
    "{Option}.",
    "{option}.",
    " {option}",
    "[{option}]",
    "**{Option}**",
    "Answer: {option}",
)
VERBOSE = (
    "Based on the scenario provided, the answer is: {option}. While it is understandable for such a device "
    "to collect and transmit this data, it is important that people are told about it.",
    "I would say this scenario is {option}, because the person concerned may not expect the information to "
    "be passed on.",
    "{Option}. The device is expected to collect this information, but the recipient matters as well.",
    "The most fitting option is **{option}**.\n\n"
    "Explanation: the condition limits what the recipient can do.",
    "My answer would be '{option}' given the details of the scenario.",
)
INVALID = {
    "refusal": (
        "As an AI language model, I cannot provide a personal opinion or additional text.",
        "I'm sorry, but I cannot assist with that request.",
        "I am an AI and do not have personal opinions on what is appropriate.",
    ),
    "needs_context": (
        "Based on the information provided, it is difficult to determine the acceptability of the scenario "
        "without further context.",
        "I would need more information about the situation to answer this question.",
    ),
    "nonsense": ("s", "smoothly acceptable", "strictly acceptable", "10", "Scenario: the device records"),
    "ambiguous": (
        "It could be {option}, and just as well {other}.",
        "strongly unacceptable, somewhat unacceptable, neutral, somewhat acceptable, strongly acceptable",
    ),
    "truncated": ("Based on the scenario that was provided, and taking into account that the",),
    "empty": ("", "   "),
}


class TextBook:
    """All texts that can be written about the options of a ``scale``, and which of them fits an answer."""

    def __init__(self, scale: Scale) -> None:
        self.texts: list[str] = []
        self._truncated: list[bool] = []
        self._codes: dict[tuple[str, int], npt.NDArray[np.int64]] = {}
        options = scale.options
        kinds = {"plain": PLAIN, "verbose": VERBOSE, **INVALID}
        if scale.name not in PAPERS:  # all of its own options, no number where numbers are options
            kinds["ambiguous"] = (INVALID["ambiguous"][0], ", ".join(options[:MOST_OPTIONS]))
            kinds["nonsense"] = tuple(
                text for text in INVALID["nonsense"] if not (scale.line and text.isdigit())
            )
        known: dict[str, int] = {}
        for kind, forms in kinds.items():
            for number, option in enumerate(options):
                other = options[number - 1] if number else options[-1]
                codes = []
                for form in forms:
                    text = form.format(option=option, Option=option.capitalize(), other=other)
                    if text not in known:
                        known[text] = len(self.texts)
                        self.texts.append(text)
                        self._truncated.append(kind == "truncated")
                    codes.append(known[text])
                self._codes[kind, number] = np.array(codes)

    def pick(
        self,
        option: npt.NDArray[np.int64],
        status: npt.NDArray[np.str_],
        verbose: npt.NDArray[np.bool_],
        uniform: npt.NDArray[np.float64],
    ) -> npt.NDArray[np.int64]:
        """Return the number of the text for each answer; ``uniform`` in (0, 1) chooses among its forms."""
        codes = np.empty(len(option), dtype=np.int64)
        kind = np.where(status == "ok", np.where(verbose, "verbose", "plain"), status)
        for (name, number), forms in self._codes.items():
            rows = np.flatnonzero((option == number) & (kind == name))
            codes[rows] = forms[(uniform[rows] * len(forms)).astype(np.int64)]
        return codes

    def finish_reason(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.str_]:
        """Return why each text ended: ``length`` for one that was cut off, ``stop`` for the others."""
        return np.where(np.array(self._truncated)[codes], "length", "stop")
