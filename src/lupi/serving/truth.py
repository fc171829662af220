"""The built-in systems as they are: what a model is to find out."""

from collections.abc import Mapping

import jax
import numpy as np

from lupi.distributions import Uniform
from lupi.errors import UserError, check_name, check_seed
from lupi.experiments.experiment import Simulation
from lupi.experiments.paper import EXPERIMENTS
from lupi.serving.contract import Parameter, Truth
from lupi.systems import simulate

NUM_TIMES = 401
"""Always as many: nothing is compiled twice, and a line between two of them is the curve."""


def true_course(name: str, seed: int, values: Mapping[str, str]) -> Truth:
    """A member of a built-in system: drawn by a seed, with some parameters as they are given."""
    check_name("system", name, EXPERIMENTS)
    experiment = EXPERIMENTS[name]
    source = experiment.source
    assert isinstance(source, Simulation)  # as all of the paper's
    family, key = source.system, jax.random.key(check_seed(seed))
    drawn = family.sample(key=key)
    parameters = []
    for parameter, distribution in family.varying().items():
        assert isinstance(distribution, Uniform)
        value, bounds = float(getattr(drawn, parameter)), _bounds(distribution)
        if parameter in values:
            value = _number(parameter, values[parameter], bounds)
        ends = {"low": distribution.low, "high": distribution.high}
        ends |= {"least": bounds[0], "most": bounds[1]}
        parameters.append(Parameter(name=parameter, value=value, **ends))
    for other in values:
        check_name("parameter", other, [one.name for one in parameters])
    member = family.member({one.name: one.value for one in parameters})
    times = np.linspace(0.0, source.horizon, NUM_TIMES)
    course = simulate(member, times, 1, key=key)
    return Truth(
        name=name,
        title=experiment.title,
        time="t",
        quantities=list(experiment.quantities),
        privileged_words=experiment.privileged,
        parameters=parameters,
        privileged=dict(zip(family.privileged, course.privileged[0].tolist(), strict=True)),
        times=times.tolist(),
        values=dict(zip(family.observed, course.observed[0].T.tolist(), strict=True)),
    )


def _bounds(distribution: Uniform) -> tuple[float, float]:
    """What may be asked for: also what no model has learnt from, to see it surprised."""
    return distribution.low / 2, 1.5 * distribution.high


def _number(name: str, text: str, bounds: tuple[float, float]) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not bounds[0] <= value <= bounds[1]:
        raise UserError(f"{name} must be from {bounds[0]:g} to {bounds[1]:g}, got {text!r:.40}.")
    return value
