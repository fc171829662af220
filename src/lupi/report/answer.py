"""Which model should I use, and do my privileged columns help? In plain words."""

from collections.abc import Sequence

from lupi.experiments.modes import REFINED
from lupi.experiments.results import Results
from lupi.report.standings import Help, Ratio, Scores, Standing, helps, standings

ENOUGH_SEEDS = 5
"""From which on intervals are as wide as they have to be, and hardly wider."""


def answers(results: Results, experiment: str, privileged: str) -> list[str]:
    """Some sentences: the model to use, and whether privileged values help."""
    order = standings(results, experiment)
    if not order:
        return ["Nothing was finished, so nothing can be said."]
    sentences = [_which(order, results.settings.get("preset", "best"))]
    if privileged:
        found = _asked_best(helps(results, experiment))
        sentences.append(_do_they_help(found, privileged))
        sentences += _best_way(found, Scores(results, experiment))
    seeds = len({r.seed for r in results.records if r.experiment == experiment})
    if seeds < ENOUGH_SEEDS:
        sentences.append(
            f"{_number(seeds)} few: with --seeds {ENOUGH_SEEDS} the intervals are narrower, and "
            "what is finished is not done again."
        )
    return sentences


def _number(seeds: int) -> str:
    return "One seed is" if seeds == 1 else f"{seeds} seeds are"


def _which(order: Sequence[Standing], preset: str) -> str:
    able = [one for one in order if one.competes]
    if not able:
        return "None of these is a model that could be used on new systems."
    best, *rest = able
    others = [one for one in rest if one.who != best.who]
    open_ = [one.label for one in others if one.behind.sign == 0]
    text = f"Use {_named(best, preset)}: its error (CRPS) is the lowest."
    if others and others[0].behind.sign > 0:
        text += f" The next, {others[0].label}, has {_more(others[0].behind)}."
    if open_:
        text += f" These seeds cannot tell it from {_some(open_)}."
    mean = next((one for one in others if one.who.base == "mean"), None)
    if mean is not None and mean.behind.sign > 0:
        text += f" The mean of the training systems, which knows nothing, has {_more(mean.behind)}."
    return text


def _some(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - 4} more" if len(labels) > 4 else ""
    return ", ".join(labels[:4]) + more


def _named(one: Standing, preset: str) -> str:
    if one.who.is_rival:
        return f"{one.label} ({one.who.base}), which is no network"
    options = [one.who.options]
    # The paper's preset has the encoder alone, the other one the search.
    if preset == "paper":
        options += ["--preset paper"] + ["--inference refined"] * (one.end == REFINED)
    elif one.end != REFINED:
        options.append("--inference amortised")
    return f"{one.label} (`lupi train {' '.join(options)}`)"


def _more(ratio: Ratio) -> str:
    if ratio.mean >= 2:
        return f"{ratio.mean:.1f} times as much [{ratio.lower:.1f} to {ratio.upper:.1f}]"
    low, high = (100 * (end - 1) for end in (ratio.lower or 1, ratio.upper or 1))
    return f"{100 * (ratio.mean - 1):.0f} % more [{low:.0f} to {high:.0f} %]"


def _do_they_help(found: Sequence[Help], privileged: str) -> str:
    if not found:
        return (
            f"Whether {privileged} helps cannot be told: that takes a model that learns from it "
            "and one of the same kind that does not, such as lupi and nopi."
        )
    without = [one for one in found if one.other.privileged == "true"]
    sentences = [_verdict(one, privileged) for one in without]
    sentences += [_control(one) for one in found if one.other.privileged != "true"]
    return " ".join(sentences)


def _asked_best(found: Sequence[Help]) -> list[Help]:
    """With the search if there is one: it is what forecasts best, and what `lupi train` does."""
    end = REFINED if any(one.end == REFINED for one in found) else ""
    return [one for one in found if one.end == end]


def _best_way(found: Sequence[Help], scores: Scores) -> list[str]:
    """Which use of privileged values is best, of those that are held against the same model."""
    sentences = []
    without = [one for one in found if one.other.privileged == "true"]
    for other in dict.fromkeys(one.other for one in without):
        ways = sorted((o for o in without if o.other == other), key=lambda one: one.ratio.mean)
        if len(ways) < 2:
            continue
        best, *rest = ((one.who, scores.values(one.who.name, "test" + one.end)) for one in ways)
        open_ = [who.label for who, errors in rest if Ratio.of(errors, best[1]).sign == 0]
        open_text = f"; these seeds cannot tell it from {_some(open_)}" if open_ else ""
        sentences.append(
            f"Of {len(ways)} ways to use it, {best[0].label} has the lowest error{open_text}."
        )
    return sentences


def _verdict(one: Help, privileged: str) -> str:
    pair = f"{one.who.label} against {one.other.label}, {one.seeds_in_favour} of {one.seeds} seeds"
    if one.ratio.sign < 0:
        return f"{privileged} helps: the error is {_change(one.ratio)} ({pair} in favour)."
    if one.ratio.sign > 0:
        return f"{privileged} does harm: the error is {_change(one.ratio)} ({pair} in favour)."
    return (
        f"Whether {privileged} helps cannot be told from these seeds: the error is "
        f"{_change(one.ratio)} ({pair} in favour)."
    )


SHOWN = {
    "shuffled": "Shown the values of other systems instead",
    "constant": "Shown the same values for all systems instead, with as many parameters",
    "noise": "Shown noise instead",
}


def _control(one: Help) -> str:
    control = one.other.privileged
    if isinstance(control, str):
        start, matter = SHOWN[control], "what the values say"
        helps = f"it is {matter} that helps"
    else:
        start = f"Shown them with noise of {control:g} standard deviations"
        matter = "how exact the values are"
        helps = f"{matter} matters"
    start += f", {one.who.label} "
    if one.ratio.sign < 0:
        return f"{start}does worse beyond chance: {helps}."
    if one.ratio.sign > 0:
        return f"{start}does better beyond chance: {matter} is no help."
    return (
        f"{start}does about as well ({_change(one.ratio)} with the true ones): {matter} is not "
        "shown to matter."
    )


def _change(ratio: Ratio) -> str:
    def signed(end: float) -> str:
        return f"{100 * (end - 1):+.0f} %"

    if ratio.lower is None or ratio.upper is None:
        return signed(ratio.mean)
    return f"{signed(ratio.mean)} [{signed(ratio.lower)} to {signed(ratio.upper)}]"
