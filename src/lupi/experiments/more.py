"""Experiments beside the paper's: systems that users know, and a family that is no dynamics."""

from lupi.distributions import Uniform
from lupi.experiments.experiment import Experiment, Simulation
from lupi.systems import Epidemic, LineAndSine, Pendulum, TwoCompartments

MORE_EXPERIMENTS: dict[str, Experiment] = {
    "pendulum": Experiment(
        Simulation(
            Pendulum(length=Uniform(0.5, 2.0), angle=Uniform(0.3, 1.5), privileged=("length",)),
            horizon=5.0,
        ),
        epochs=100,
        title="Pendulum, length ~ U(0.5, 2), angle ~ U(0.3, 1.5)",
        quantities=("angle",),
        privileged="length",
    ),
    "epidemic": Experiment(
        Simulation(
            Epidemic(
                contact_rate=Uniform(0.4, 1.0),
                recovery_rate=Uniform(0.1, 0.25),
                initially_infected=Uniform(0.002, 0.02),
                privileged=("contact_rate", "recovery_rate"),
            ),
            horizon=40.0,
        ),
        epochs=100,
        title="Epidemic (SIR), contacts ~ U(0.4, 1), recovery ~ U(0.1, 0.25)",
        quantities=("infected", "recovered"),
        privileged="contact rate, recovery rate",
    ),
    "drug": Experiment(
        Simulation(
            TwoCompartments(
                clearance=Uniform(0.5, 2.5), volume=Uniform(5.0, 10.0), privileged=("clearance",)
            ),
            horizon=24.0,
        ),
        epochs=100,
        title="Drug in two compartments, clearance ~ U(0.5, 2.5), volume ~ U(5, 10)",
        quantities=("concentration",),
        privileged="clearance",
    ),
    "line-and-sine": Experiment(
        Simulation(
            LineAndSine(
                a=Uniform(-1.0, 1.0),
                b=Uniform(0.0, 6.0),
                c=Uniform(-1.0, 1.0),
                privileged=("a", "b", "c"),
            ),
            horizon=4.0,
        ),
        epochs=100,
        title="y = a x + sin(b x) + c, a, c ~ U(-1, 1), b ~ U(0, 6)",
        quantities=("y",),
        privileged="a, b, c",
    ),
}
"""By name. Of noise with standard deviation 0.2, the last has 0.18 of its own, which is 1.12."""
