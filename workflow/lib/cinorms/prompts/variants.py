"""Prompts: the variants of an arm, and the text that one (vignette, variant) pair becomes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cinorms.core.csv_tables import PREVIEW
from cinorms.core.errors import ConfigError, listing
from cinorms.core.scales import Scale
from cinorms.prompts.acts import SEEN, asks_for_action
from cinorms.prompts.orders import options_shown, order_codes, orders_of
from cinorms.vignettes.agent_files import steps_of
from cinorms.vignettes.factors import has_levels

#: The papers' literal wrappers, flaws included (docs/method/prompts/variants.md, "Wrappers"): ``llama3`` writes the
#: begin-of-text token that an engine adds again and leaves the assistant's turn unopened; ``tulu`` lacks
#: the line break after the assistant tag that its model card asks for. A space parts both from the prompt.
WRAPPERS = {
    "llama2": ("[INST] ", " [/INST]"),
    "tulu": ("<|user|>\n ", " \n\n<|assistant|>"),
    "llama3": ("<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n ", " <|eot_id|>"),
    "none": ("", ""),
}

#: The PETS authors' requests to gpt-4o-mini, byte for byte: with random orders, and in one order.
PAPER_REQUESTS = ("paper_random_orders", "paper_one_order")

#: Prompts that a preview shows, or more where there are more templates.
PREVIEWED = 30

#: The place of the vignette in a template, with the punctuation before it, and what the authors' code adds (ConfAIde).
_SCENARIO = re.compile(r":?\s*\{scenario\}(?: Answer: )?")


def list_variants(prompt_set: str, templates: Sequence[str], n_templates: int, n_orders: int) -> pd.DataFrame:
    """Return the prompts table of an arm: every template with every order number.

    The variant ``"3_1"`` is template 3 in its order 1, whatever else the arm asks.
    """
    rows = [
        (f"{template_no}_{order_no}", templates[template_no], prompt_set, template_no, order_no)
        for template_no in range(n_templates)
        for order_no in range(n_orders)
    ]
    frame = pd.DataFrame(rows, columns=["variant", "template", "prompt_set", "template_no", "order_no"])
    return frame.astype({"template_no": np.int32, "order_no": np.int32})


def select_flows(vignettes: pd.DataFrame, select: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Return the flows whose levels are among those named, every factor that is not named left free.

    Raises ``ConfigError`` for a level that no flow has (the levels of a dataset in a file are not known before), and
    where no flow is left.
    """
    for factor, levels in select.items():
        present = list(vignettes[factor].unique())
        for level in levels:
            if level not in present:
                raise ConfigError(f"select.{factor}: {level!r} is not a level; {listing(level, present)}")
    keep = has_levels(vignettes, select)
    if select and not keep.any():
        raise ConfigError(
            f"select: no flow has the levels named for {', '.join(select)} together; select others"
        )
    return vignettes.loc[keep].reset_index(drop=True)


def ask_grid(
    flows: pd.Series, variants: pd.DataFrame, method: str, seed: int, n_options: int
) -> pd.DataFrame:
    """Return every (flow, variant) to ask, sorted by flow, template, order.

    Columns: flow, row (position in ``variants``), order_code (see `orders.Orders`).
    """
    flow = np.repeat(flows.to_numpy(np.int32), len(variants))
    row = np.tile(np.arange(len(variants), dtype=np.int32), len(flows))
    template_no, order_no = (variants[name].to_numpy()[None, :] for name in ("template_no", "order_no"))
    codes = order_codes(method, seed, flows.to_numpy()[:, None], template_no, order_no, n_options)
    return pd.DataFrame({"flow": flow, "row": row, "order_code": codes.ravel()})


def messages(
    template: str,
    vignette: str,
    order_code: int,
    scale: Scale,
    layout: str = "single",
    system: str | None = None,
) -> list[dict[str, str]]:
    """Return the chat messages that ask one (vignette, variant).

    ``layout="instruction_in_system"`` puts the template without the vignette into the system message and
    the vignette alone into the user message; `paper_layout` names what the PETS authors sent. ``system`` goes first.
    A template that asks for an action shows no options; the order is then that of what was seen.
    """
    shown, place = options_shown(scale)[order_code], "{options}"
    if asks_for_action(template):
        vignette, shown = in_order(vignette, order_code, scale.n_shown)
        place = SEEN
    if layout == "single":
        instruction, user = None, fill(template, vignette, shown, place)
    elif place == SEEN:
        instruction, user = fill(_SCENARIO.sub("", template), "", "", place), f"{vignette}\n\n{shown}"
    elif layout == "instruction_in_system":
        instruction, user = fill(_SCENARIO.sub("", template), "", shown), vignette
    else:
        instruction, user = _as_requested(template, shown, layout), vignette
    head = "\n\n".join(part for part in (system, instruction) if part)
    first = [{"role": "system", "content": head}] if head else []
    return [*first, {"role": "user", "content": user}]


def paper_layout(layout: str, order_method: str) -> str:
    """Return the layout that the papers used for a model, whose entry names ``layout``, in an arm."""
    if layout == "single":
        return layout
    return "paper_one_order" if order_method == "fixed" else "paper_random_orders"


def _as_requested(template: str, shown: str, layout: str) -> str:
    """Return the system message of the PETS authors' requests to gpt-4o-mini.

    The options follow a blank line and a space, in brackets only where orders were random. The first template has a
    line break inside. Templates with text after the options (ConfAIde's) have no published request; they stay as they
    are.
    """
    before, _, after = _SCENARIO.sub("", template).partition("{options}")
    if after:
        return before + shown + after
    before = before.replace(
        ". The answer needs to be strictly only", " \n\n The answer needs to be strictly only"
    )
    return f"{before.rstrip()}\n\n {shown if layout == 'paper_random_orders' else shown[1:-1]}"


def in_order(trajectory: str, order_code: int, n_options: int) -> tuple[str, str]:
    """Return instruction and tools of a trajectory, and what was seen in the order with this code (see `Orders`).

    The steps are put into as many runs of neighbours as the orders have options, and the runs into the order: 0 keeps
    it.
    """
    head, steps = steps_of(trajectory)
    order = orders_of(n_options).shown[order_code].tolist()
    runs = [
        steps[len(steps) * run // n_options : len(steps) * (run + 1) // n_options] for run in range(n_options)
    ]
    return head, "\n\n".join(step for run in order for step in runs[run])


def fill(template: str, vignette: str, shown: str, place: str = "{options}") -> str:
    """Put the vignette, and at its ``place`` the option list, into a template (each is in it at most once)."""
    before, found, after = template.partition(place)
    return before.replace("{scenario}", vignette) + (found and shown) + after.replace("{scenario}", vignette)


def wrap(chat: Sequence[Mapping[str, str]], wrapper: str) -> str:
    """Return the text of a single-message chat in one of the papers' literal ``WRAPPERS``.

    A system message comes before the user's text, because the papers' wrappers have no place of their own for it.
    """
    start, end = WRAPPERS[wrapper]
    return start + "\n\n".join(message["content"] for message in chat) + end


def preview(
    vignettes: pd.DataFrame, variants: pd.DataFrame, arm: Mapping[str, Any], scale: Scale, seed: int
) -> pd.DataFrame:
    """Return a sample of rendered prompts for people: every template, spread over the flows.

    Columns: flow, variant, layout, system_message, user_message. Under ``layout: paper``, which differs
    between models, every prompt is shown in both layouts.
    """
    flows = select_flows(vignettes, arm["select"])
    cycle = variants.sort_values(["order_no", "template_no"], ignore_index=True)
    n_previewed = max(PREVIEWED, cycle["template_no"].nunique())
    picked = np.linspace(0, len(flows) - 1, num=n_previewed).round().astype(int)
    places = dict.fromkeys((int(row), number % len(cycle)) for number, row in enumerate(picked))
    papers = ("single", paper_layout("instruction_in_system", arm["orders"]["method"]))
    lines = []
    for row, place in places:
        flow, variant = flows.iloc[row], cycle.iloc[place]
        numbers = (flow["flow"], variant["template_no"], variant["order_no"])
        code = order_codes(arm["orders"]["method"], seed, *numbers, scale.n_shown)
        for layout in papers if arm["layout"] == "paper" else (arm["layout"],):
            chat = messages(variant["template"], flow["vignette"], int(code), scale, layout, arm["system"])
            words = {message["role"]: message["content"] for message in chat}
            lines.append((flow["flow"], variant["variant"], layout, words.get("system", ""), words["user"]))
    return pd.DataFrame(lines, columns=list(PREVIEW.about))
