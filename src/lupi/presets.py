"""Settings to begin with: what forecasts best, and the paper's."""

from typing import Any, NamedTuple

from lupi.data.split import Contexts
from lupi.inference import AbstractInference, Amortised, Refined
from lupi.objectives import AbstractObjective, Elbo
from lupi.training import TrainingSettings


class Preset(NamedTuple):
    """Settings to begin with."""

    process: dict[str, Any]
    """What differs from the paper's sizes, of processes that have such a setting."""
    train: TrainingSettings
    objective: AbstractObjective
    inference: AbstractInference
    members: int
    """Networks of a forecaster."""
    blend: bool
    """Whether they are blended with plain guesses, and calibrated."""


BEST = Preset(
    process={
        "hidden_size": 64,
        "representation_size": 64,
        "min_latent_scale": 0.01,
        "min_observation_scale": 1e-4,
        # The same in training and after it: the decoder is a simulator together with its solver.
        "solver_steps": 8,
        "training_solver_steps": 8,
        "marks_gaps": True,
    },
    train=TrainingSettings(
        epochs=None,
        optimiser="muon",
        learning_rate=5e-3,
        batch_size=8,
        context_sizes=(1, 15),
        contexts=Contexts(random=0.4, first=0.3, last=0.05, gap=0.15, one=0.05, none=0.05),
        target_sizes=(10, 50),
        decay=True,
        max_gradient=10.0,
        keep_best=True,
        validations=25,
        validation_draws=4,
    ),
    objective=Elbo(kl_weight=0.1),
    inference=Refined(),
    members=4,
    blend=True,
)
"""What forecasts best, for data of all kinds."""

PRESETS = {
    "default": BEST,
    "paper": Preset(
        process={"marks_gaps": True},
        train=TrainingSettings(),
        objective=Elbo(),
        inference=Amortised(),
        members=1,
        blend=False,
    ),
}
"""`default` serves data of all kinds; `paper` has the paper's settings."""
