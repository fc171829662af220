"""Where these runs differ from what the paper's text says."""

from lupi.experiments.paper import EXPERIMENTS
from lupi.experiments.results import Results


def describe_departures(results: Results) -> str:
    """One paragraph, to stand beside the paper's numbers."""
    experiments, models = results.settings["experiments"], results.settings["models"]
    trained = sorted({r.experiment for r in results.records if r.experiment in EXPERIMENTS})
    if not trained:
        return "None of these experiments is the paper's."
    epochs = ", ".join(f"{experiments[name]['training']['epochs']} on {name}" for name in trained)
    gains = sorted({models[r.model]["process"]["initial_gain"] for r in results.records})
    gain = " and ".join(f"{gain:.3g}" for gain in gains)
    return (
        f"Not as in the paper's text: epochs ({epochs}; the text says 100 for all, the published "
        f"notebooks for Lotka-Volterra 550), and initial weights {gain} times PyTorch's default "
        "(the text does not speak of them). The starred rows condition on all points of a test "
        "series, which are more than the 50 that a model has seen at once in training."
    )
