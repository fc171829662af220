"""The paper's three experiments, and the models it compares in them."""

from lupi.distributions import Uniform
from lupi.errors import check_name
from lupi.experiments.experiment import Experiment, Simulation
from lupi.experiments.more import MORE_EXPERIMENTS
from lupi.systems import DampedOscillators, LotkaVolterra

EXPERIMENTS: dict[str, Experiment] = {
    "stiffness": Experiment(
        Simulation(DampedOscillators(k=Uniform(0.2, 1.0), c=1.0, privileged=("k",)), horizon=10.0),
        epochs=100,
        title="Varying stiffness, k ~ U(0.2, 1)",
        quantities=("x₁", "x₂"),
        privileged="stiffness k",
    ),
    "damping": Experiment(
        Simulation(DampedOscillators(k=0.5, c=Uniform(0.5, 2.0), privileged=("c",)), horizon=10.0),
        epochs=100,
        title="Varying damping, c ~ U(0.5, 2)",
        quantities=("x₁", "x₂"),
        privileged="damping c",
    ),
    "lotka-volterra": Experiment(
        Simulation(
            LotkaVolterra(u0=Uniform(0.2, 1.0), v0=Uniform(0.1, 0.5), privileged=("V",)),
            horizon=10.0,
        ),
        epochs=550,
        title="Lotka-Volterra, u₀ ~ U(0.2, 1), v₀ ~ U(0.1, 0.5)",
        quantities=("prey u", "predators v"),
        privileged="V",
    ),
}

BUILT_IN = {**EXPERIMENTS, **MORE_EXPERIMENTS}
"""These and the others that have a name."""

WITHOUT, WITH = "nopi", "lupi"
"""The paper's two models in the registry: without privileged information, and with it."""

PAPER_MODELS = (WITHOUT, WITH)


def get_experiment(name: str) -> Experiment:
    """The experiment of that name, the paper's or another."""
    check_name("experiment", name, BUILT_IN)
    return BUILT_IN[name]
