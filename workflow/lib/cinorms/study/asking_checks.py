"""What an arm needs that is asked until its flows are decided, or asked again."""

from __future__ import annotations

from cinorms.core.errors import ConfigError
from cinorms.stats.deciding.schedule import BLOCK
from cinorms.study.settings import Arm
from cinorms.study.study import Study


def check_asking(study: Study, name: str, arm: Arm) -> None:
    """Refuse ``asking.until: decided`` where there is nothing to ask, too little to leave out, or no one start."""
    if arm.asking.until == "all":
        return
    place = arm.asking.stated_in("until")
    if arm.source != "model":
        raise ConfigError(
            f"{place}: 'decided' does not fit source '{arm.source}' of arm '{name}': its answers exist already; set it "
            "to 'all'"
        )
    for model in study.models(name):
        variants, t_val = study.templates(name, model) * arm.orders.count, study.t_val(model)
        if variants <= 2 * BLOCK:
            raise ConfigError(
                f"{place}: 'decided' needs more than {2 * BLOCK} variants; arm '{name}' has {variants} for {model}; "
                "set it to 'all', or raise templates or orders.count"
            )
        if t_val > variants:
            raise ConfigError(
                f"{place}: 'decided' has no verdict to wait for: t_val is {t_val} for {model}, and arm '{name}' has "
                f"{variants} variants; lower norms.t_val or norms.t_val_for.{model}"
            )
        entry = study.registry_entry(model)
        if entry.settings.shards > 1:
            raise ConfigError(
                f"{entry.file}: {model}.shards: {entry.settings.shards} does not fit asking.until 'decided' of arm "
                f"'{name}': the next round depends on all answers; set it to 1"
            )
        mode = study.settings.mode or getattr(entry.settings, "mode", None)
        if mode == "batch" and hasattr(entry.settings, "mode"):
            raise ConfigError(
                f"{place}: 'decided' does not fit mode 'batch' of {model}: each of up to {variants - BLOCK + 1} rounds "
                "would wait for a batch, up to a day each; set `mode: live`, or 'all'"
            )


def check_repeat(name: str, arm: Arm) -> None:
    """Refuse ``repeat`` where nothing is asked, or where what is asked depends on the replies."""
    if arm.repeat == 1:
        return
    place = arm.stated_in("repeat")
    if arm.source != "model":
        raise ConfigError(
            f"{place}: {arm.repeat} does not fit source '{arm.source}' of arm '{name}': nothing is asked there; set it "
            "to 1"
        )
    if arm.asking.until == "decided":
        raise ConfigError(
            f"{place}: {arm.repeat} does not fit asking.until 'decided' of arm '{name}': a repeat with other replies "
            "would ask other questions; set it to 1, or asking.until to 'all'"
        )
