"""Small trained models of the built-in systems, shipped with the package.

`python tools/playground_models.py` in the repository makes them again.
"""

from pathlib import Path

from lupi.errors import check_name
from lupi.experiments.paper import EXPERIMENTS, PAPER_MODELS
from lupi.forecasting import Forecaster

FOLDER = Path(__file__).parent / "models"

BUILT_IN = {
    f"{system}-{model}": system for system in EXPERIMENTS for model in reversed(PAPER_MODELS)
}
"""The system that each of them is of."""


def load_built_in(name: str) -> Forecaster:
    """The built-in forecaster of that name, such as `stiffness-lupi`."""
    check_name("built-in model", name, BUILT_IN)
    return Forecaster.load(FOLDER / f"{name}.lupi")
