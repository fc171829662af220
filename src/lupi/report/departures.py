"""Where these runs differ from what the paper's text says."""

from lupi.experiments.results import Results


def describe_departures(results: Results) -> str:
    """One paragraph, to stand beside the paper's numbers."""
    tasks = results.settings["tasks"]
    trained = sorted({record.task for record in results.records})
    epochs = ", ".join(f"{tasks[task]['training']['epochs']} on {task}" for task in trained)
    gains = sorted({tasks[task]["process"]["initial_gain"] for task in trained})
    gain = " and ".join(f"{gain:.3g}" for gain in gains)
    return (
        f"Not as in the paper's text: epochs ({epochs}; the text says 100 for all, the published "
        f"notebooks for Lotka-Volterra 550), and initial weights {gain} times PyTorch's default "
        "(the text does not speak of them). The starred rows condition on all points of a test "
        "series, which are more than the 50 that a model has seen at once in training."
    )
