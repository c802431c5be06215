"""Planted respondents: known norms, known noise, known invalid answers, and no model asked.

The flow's acceptability is a cumulative-logit model over the factors: ``linear`` (the sum of the levels'
coefficients, shifted) plus ``residual`` (standard logistic, one per flow). Cutting their sum at
the thresholds gives the planted norm. On a scale with another number of levels the thresholds are spread over the same
range (`thresholds_on`). A single answer adds the effect of its template and its own noise
before the cut; a stated share of answers follows the position of the option instead. Everything is a pure
function of (model, flow, variant, seed), so shards and restarts change nothing.

Also planted agents: what they do, in a known relation to what they say, and what a planted judge says of that.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from cinorms.core.arrays import Floats, Ints
from cinorms.core.draws import draw_logistic, draw_uniform, text_number
from cinorms.core.scales import DISCLOSURE, PAPERS, Scale
from cinorms.planted.settings import Acts, Respondent, Traces
from cinorms.prompts.acts import asks_for_action
from cinorms.prompts.orders import orders_of
from cinorms.vignettes.agent_files import SENSITIVE, items_of
from optionreader import MOST_OPTIONS

# --- Planted agents: what a respondent does, in a known relation to what it says of the same flow
# An action discloses a sensitive item where the sum of ``link`` times the latent acceptability of the flow, of what
# only actions have, and of the item's own noise is above the middle of the thresholds.

REFUSES = "I'm sorry, but I cannot help with that."
ASKS = "Which of these details should I include in the message?"
UNREADABLE = "The look-ups are complete and the user can go on from here"
#: What a planted judge writes about anything but an action.
NOT_ASKED = "A planted judge reads actions only"
_VERDICTS = {REFUSES: "refusal", ASKS: "needs_context", UNREADABLE: "nonsense"}
#: Scale of the noise of single items, in logits.
ITEM_NOISE = 0.3

_TOOL = re.compile(r"The action to write is (\w+)")


def act(
    acts: Acts, said: Floats, middle: float, vignettes: pd.DataFrame, points: tuple[Any, ...], seed: int
) -> pd.DataFrame:
    """Return text and finish reason of each action.

    ``said`` is the latent acceptability of the flow as the respondent says it in this variant, ``vignettes`` has
    the flow of each action, ``points`` are the coordinates of its draws: respondent, flow, template, order.
    """
    acts_alone = draw_logistic("own act", seed, *points[:2]) + 0.3 * draw_logistic("act", seed, *points)
    ready = middle + acts.link * (said - middle) + np.sqrt(1 - acts.link**2) * acts_alone + acts.shift
    careless = np.asarray(draw_uniform("careless", seed, *points)) < acts.careless
    upper = np.cumsum([acts.refuses, acts.asks, acts.unreadable])
    kind = np.searchsorted(upper, draw_uniform("kind of act", seed, *points), side="right")
    items = items_of(vignettes.drop_duplicates("flow"))
    tools = {
        text: match[1] if (match := _TOOL.search(text)) else "Send" for text in vignettes["vignette"].unique()
    }
    texts = []
    columns = zip(
        vignettes["flow"], vignettes["vignette"], ready, careless, kind, points[2], points[3], strict=True
    )
    for flow, vignette, readiness, is_careless, kind_of_act, template, order in columns:
        if kind_of_act < len(upper):
            texts.append((REFUSES, ASKS, UNREADABLE)[kind_of_act])
            continue
        flow_items, place = items[flow], (points[0], flow, template, order)
        noise = ITEM_NOISE * _each("item", flow_items["sensitive"], seed, place, draw_logistic)
        shared = (readiness + noise > middle) | is_careless
        kept = _each("needed", flow_items["needed"], seed, place, draw_uniform) >= acts.needless
        disclosed = [*np.array(flow_items["needed"], dtype=object)[kept]]
        disclosed += [*np.array(flow_items["sensitive"], dtype=object)[shared]]
        body = json.dumps({"body": " ".join(["Hello, here it is.", *disclosed])}, ensure_ascii=False)
        texts.append(f"Action: {tools[vignette]}\nAction Input: {body}")
    return pd.DataFrame({"text": pd.Categorical(texts), "finish_reason": "stop"})


def judge(mistakes: float, actions: pd.DataFrame, who: int, seed: int) -> pd.DataFrame:
    """Return what a planted judge writes about actions of planted agents, which use the words of the items.

    It sees what any coder sees. ``mistakes`` is the share of its verdicts on calls that are wrong.
    """
    wrong = np.asarray(draw_uniform("judge", seed, who, actions["flow"].to_numpy())) < mistakes
    if "reply" not in actions:
        return pd.DataFrame({"text": NOT_ASKED, "finish_reason": "stop"}, index=range(len(actions)))
    columns = zip(actions["scenario"], actions["reply"], wrong, strict=True)
    return pd.DataFrame({"text": [_verdict(*each) for each in columns], "finish_reason": "stop"})


def _verdict(scene: str, reply: str, wrong: bool) -> str:
    if SENSITIVE not in scene:
        return NOT_ASKED
    if reply in _VERDICTS:
        return _VERDICTS[reply]
    words, items = " ".join(reply.split()), scene.split(f"{SENSITIVE}\n- ")[-1].split("\n- ")
    is_shared = any(json.dumps(item, ensure_ascii=False)[1:-1] in words for item in items)
    return "shared" if is_shared != wrong else "withheld"


def _each(stream: str, items: Sequence[str], seed: int, place: tuple[Any, ...], draw: Any) -> Floats:
    """Return a draw for each item of an action."""
    return np.asarray(draw(stream, seed, *place, np.arange(len(items))), dtype=np.float64)


# --- Respondents


def draw_traces(traces: Traces, budget: int, points: tuple[Any, ...], seed: int) -> "DrawnTraces":
    """Draw the trace of each answer under a budget: log-normal lengths, cut at the budget; none without one.

    Two budgets have the same draws: where a trace is long under one, it is long under the other.
    """
    if budget == 0:
        nothing = np.zeros(np.broadcast(*points).shape, dtype=np.int64)
        none = nothing.astype(np.bool_)
        return DrawnTraces(nothing, none, none, nothing.astype(np.float64))
    length = budget * traces.fill * np.exp(traces.spread * draw_normal("trace", seed, *points))
    cut = np.asarray(length >= budget)
    n_tokens = np.minimum(np.ceil(length), budget).astype(np.int64)
    unanswered = cut & (np.asarray(draw_uniform("unanswered", seed, *points)) < traces.unanswered)
    return DrawnTraces(n_tokens, cut, unanswered, traces.bias * n_tokens / 1000)


class DrawnTraces(NamedTuple):
    """The traces of some answers: their lengths, which were cut, which of them no answer follows, and their bias."""

    n_tokens: Ints
    cut: npt.NDArray[np.bool_]
    unanswered: npt.NDArray[np.bool_]
    #: What is added to the share of answers that depend on the position of the option.
    bias: Floats

    def added_to(self, replies: pd.DataFrame) -> pd.DataFrame:
        """Return replies with the columns about traces; a reply without an answer is empty, cut by the length."""
        texts = replies["text"].cat
        return replies.assign(
            text=texts.set_categories(texts.categories.union([""], sort=False)).mask(self.unanswered, ""),
            finish_reason=np.where(self.unanswered, "length", replies["finish_reason"]),
            n_trace_tokens=self.n_tokens,
            trace_status=np.where(self.n_tokens == 0, "none", np.where(self.cut, "cut", "whole")),
        )


def level_coefficients(
    respondent: Respondent, factors: Mapping[str, Sequence[str]], seed: int
) -> pd.DataFrame:
    """Return the coefficient of every level: columns factor, level, coefficient.

    A level that is not listed draws one from a normal distribution: the same for every respondent and
    dataset under one seed, so that only stated differences between respondents exist. The only level of a factor has
    0 if it is not listed.
    """
    rows = []
    for factor, levels in factors.items():
        stated = respondent.coefficients.get(factor, {})
        for level in levels:
            if level in stated:
                value = stated[level]
            elif len(levels) == 1:
                value = 0.0
            else:
                draw = draw_normal("level", seed, text_number(factor), text_number(level))
                value = respondent.other_levels_sd * float(draw)
            rows.append((factor, level, value))
    return pd.DataFrame(rows, columns=["factor", "level", "coefficient"])


def thresholds_on(respondent: Respondent, scale: Scale) -> Floats:
    """Return the respondent's thresholds on a scale, one fewer than its levels.

    Where that is another number than planted, they are where the planted ones would put the same share of the levels,
    in proportion between two planted thresholds and beyond the outer ones.
    """
    planted, n = np.array(respondent.thresholds, dtype=np.float64), len(scale.levels)
    if len(planted) == n - 1:
        return planted
    share, cuts = np.arange(1, len(planted) + 1) / (len(planted) + 1), np.arange(1, n) / n
    if len(planted) == 1:
        return planted + (cuts - 0.5) * len(scale.levels)
    between = np.clip(np.searchsorted(share, cuts), 1, len(share) - 1)
    low, high = share[between - 1], share[between]
    return planted[between - 1] + (cuts - low) / (high - low) * (planted[between] - planted[between - 1])


def plant(
    respondent: Respondent, vignettes: pd.DataFrame, factors: Sequence[str], scale: Scale, seed: int
) -> pd.DataFrame:
    """Return the planted table: per flow the norm (missing for a control that has none) and its two parts."""
    flows = vignettes["flow"].to_numpy()
    table = pd.DataFrame({"flow": flows.astype(np.int32)})
    if respondent.control is not None:
        constant = scale.levels[scale.sides.index(1)] if respondent.control == "constant_answer" else pd.NA
        table["level"] = pd.array([constant] * len(table), dtype="Int8")
        return table.assign(linear=0.0, residual=0.0)
    linear = np.full(len(flows), float(respondent.shift))
    levels = {factor: list(vignettes[factor].cat.categories) for factor in factors}
    for factor, rows in level_coefficients(respondent, levels, seed).groupby("factor", sort=False):
        coefficients = rows.set_index("level")["coefficient"]
        linear += coefficients.loc[levels[str(factor)]].to_numpy()[vignettes[factor].cat.codes]
    residual = draw_logistic("residual", seed, text_number(respondent.name), flows)
    if scale.measure == DISCLOSURE:  # what it says of the flow, which its actions need not follow
        return table.assign(
            level=pd.Series(pd.NA, table.index, dtype="Int8"), linear=linear, residual=residual
        )
    level = np.array(scale.levels)[np.searchsorted(thresholds_on(respondent, scale), linear + residual)]
    return table.assign(level=pd.array(level.astype(np.int8), dtype="Int8"), linear=linear, residual=residual)


def answer(
    spec: Mapping[str, Any],
    vignettes: pd.DataFrame,
    variants: pd.DataFrame,
    grid: pd.DataFrame,
    planted: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Answer every row of ``grid`` (from ``prompts.variants.ask_grid``) as the respondent that ``spec`` plants.

    ``planted`` is what ``plant`` gives for it, where that is known already.

    Columns: text and finish_reason; with a budget for traces, also n_trace_tokens and trace_status (`DrawnTraces`).

    The temperature adds its value to the scale of the answers' noise. A template is known by its wording,
    not by its number: the same wording in two prompt sets has one effect, template 3 of each has its own.
    In a sample after the first, the planted share of the answers chooses another option.
    """
    respondent, scale, seed = respondent_of(spec), Scale.from_plain(spec["scale"]), spec["seed"]
    who = text_number(respondent.name)
    rows = grid["row"].to_numpy()
    templates = np.array([text_number(template) for template in variants["template"]], dtype=np.int64)
    points = (who, grid["flow"].to_numpy(), templates[rows], variants["order_no"].to_numpy()[rows])
    budget = (spec.get("reasoning") or {}).get("budget")
    traces = None if budget is None else draw_traces(respondent.trace or Traces(), budget, points, seed)
    place = np.searchsorted(vignettes["flow"].to_numpy(), grid["flow"].to_numpy())
    if respondent.judge is not None:
        return judge(respondent.judge, vignettes.iloc[place], who, seed)
    if planted is None:
        planted = plant(respondent, vignettes, spec["factors"], scale, seed)
    latent = (planted["linear"] + planted["residual"]).to_numpy()[place]
    latent += (respondent.template_sd * draw_normal("template", seed, who, templates))[rows]
    latent += (respondent.noise + spec["temperature"]) * draw_logistic("answer", seed, *points)
    if asks_for_action(variants["template"].iloc[0]):
        middle = float(np.mean(respondent.thresholds))
        replies = act(respondent.acts or Acts(), latent, middle, vignettes.iloc[place], points, seed)
        if respondent.control == "refusing":
            replies = replies.assign(text=pd.Categorical([REFUSES] * len(replies)))
        return replies if traces is None else traces.added_to(replies)
    share = respondent.position_share + (0.0 if traces is None else traces.bias)
    shown = orders_of(scale.n_shown).shown[grid["order_code"].to_numpy()]
    option = _chosen_option(respondent, latent, shown, scale, points, seed, share)
    if spec["sample"] > 1 and respondent.unrepeatable:
        n, again = len(scale.levels), (*points, spec["sample"])
        other = (option + 1 + (draw_uniform("flip_to", seed, *again) * (n - 1)).astype(np.int64)) % n
        option = np.where(draw_uniform("flip", seed, *again) < respondent.unrepeatable, other, option)
    book = TextBook(scale)
    # ``ok`` or a kind of invalid answer.
    invalid = respondent.invalid_shares
    kinds, upper = [*invalid, "ok"], np.cumsum([*invalid.values()])
    drawn = np.searchsorted(upper, draw_uniform("status", seed, *points), side="right")
    status = np.full(len(grid), "refusal") if respondent.control == "refusing" else np.array(kinds)[drawn]
    verbose = draw_uniform("verbose", seed, *points) < respondent.verbose
    codes = book.pick(option, status, verbose, draw_uniform("text", seed, *points))
    text = pd.Categorical.from_codes(codes, categories=pd.Index(book.texts, dtype="str"))
    replies = pd.DataFrame({"text": text, "finish_reason": book.finish_reason(codes)})
    return replies if traces is None else traces.added_to(replies)


def _chosen_option(
    respondent: Respondent,
    latent: Floats,
    shown: npt.NDArray[np.int8],
    scale: Scale,
    points: tuple[Any, ...],
    seed: int,
    position_share: float | Floats,
) -> Ints:
    """Return the index of the chosen option (0 lowest) for every answer; ``shown`` are the options in their order."""
    n = len(scale.levels)
    match respondent.control:
        case "constant_answer" | "refusing":
            return np.full(len(latent), scale.sides.index(1))  # the mildest option on the upper side
        case "constant_position":
            return np.asarray(shown[:, 0], dtype=np.int64)
        case "uniform":
            return np.asarray(draw_uniform("uniform", seed, *points) * n).astype(np.int64)
    option = np.searchsorted(thresholds_on(respondent, scale), latent)
    if scale.n_shown == 1:
        return np.asarray(option, dtype=np.int64)
    by_position = draw_uniform("by_position", seed, *points) < position_share
    # Those planted, or in proportion between them.
    stated = respondent.position_weights
    weights = np.cumsum(np.interp(np.linspace(0, len(stated) - 1, n), np.arange(len(stated)), stated))
    weights /= weights[-1]
    position = np.searchsorted(weights, draw_uniform("position", seed, *points), side="right").clip(max=n - 1)
    return np.asarray(np.where(by_position, shown[np.arange(len(latent)), position], option), dtype=np.int64)


def respondent_of(spec: Mapping[str, Any]) -> Respondent:
    """Return the respondent that an inference spec plants."""
    return Respondent(name=spec["model"], **spec["planted"])


def describe(spec: Mapping[str, Any], vignettes: pd.DataFrame) -> dict[str, Any]:
    """Return each level's coefficient that ``spec`` plants, as plain data."""
    respondent = respondent_of(spec)
    levels = {factor: list(vignettes[factor].cat.categories) for factor in spec["factors"]}
    planted = (
        [] if respondent.control else level_coefficients(respondent, levels, spec["seed"]).to_dict("records")
    )
    return {"planted": "No model was asked: these are the planted norms.", "coefficients": planted}


# --- The words of an answer

PLAIN = (
    *["{option}"] * 4,
    *["{Option}"] * 2,
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
    "conditional": (
        "If the owner has given consent, this is {option}. Otherwise it is {other}.",
        "With the owner's knowledge it is {option}, without it {other}.",
    ),
    "truncated": ("Based on the scenario that was provided, and taking into account that the",),
    "empty": ("", "   "),
}


class TextBook:
    """All texts that can be written about the options of a ``scale``, and which of them fits an answer."""

    def __init__(self, scale: Scale) -> None:
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
                words = {"option": option, "Option": option.capitalize(), "other": options[number - 1]}
                codes = [known.setdefault(form.format(**words), len(known)) for form in forms]
                self._codes[kind, number] = np.array(codes)
        self.texts = list(known)

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
        return np.where(np.isin(codes, self._codes["truncated", 0]), "length", "stop")


def draw_normal(purpose: str, seed: int, *coordinates: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return a standard normal number for each point of ``coordinates``."""
    return np.asarray(scipy.special.ndtri(draw_uniform(purpose, seed, *coordinates)))
