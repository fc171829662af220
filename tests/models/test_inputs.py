"""What is known of new systems too: how processes take it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lupi.data import Observations, Task
from lupi.data.inputs import Inputs
from lupi.errors import UserError
from lupi.inference import InferringPredictor, Refined, learn_family
from lupi.models import KINDS, build_process, load_process, save_process
from lupi.models.process import Sample
from lupi.objectives import Elbo
from lupi.prediction import predict, predict_many
from lupi.training import TrainingSettings, fit
from toy_processes import LatentSettings

SIZES = {"hidden_size": 8, "representation_size": 6}
TAKING = {name: kind for name, kind in KINDS.items() if kind.uses_inputs}
TIMES = np.linspace(0.0, 1.0, 7, dtype=np.float32)
KEY = jax.random.key(5)


def constant(*values: float, knots: int = 1) -> Inputs:
    ts = np.linspace(0.0, 1.0, knots, dtype=np.float32)
    return Inputs(ts, np.tile(np.array(values, np.float32), (knots, 1)))


def seen(inputs: Inputs | None) -> Observations:
    ts = np.array([0.1, 0.4, 0.7], np.float32)
    return Observations(ts, np.stack([np.sin(ts), np.cos(ts)], axis=1), inputs=inputs)


@pytest.fixture(scope="module", params=TAKING)
def settings(request):
    return TAKING[request.param](**SIZES)


@pytest.fixture(scope="module")
def process(settings):
    return build_process(settings, observation_size=2, input_size=2, key=KEY)


def test_inputs_change_what_is_predicted(process):
    one, other = (
        predict(process, seen(constant(*values)), TIMES, key=KEY).mean
        for values in ((0.5, 1.0), (-0.5, 1.0))
    )
    assert np.abs(one - other).max() > 1e-3


@eqx.filter_jit
def encode(process, observations: Observations):
    return process.encode(observations)


@eqx.filter_jit
def decode(process, z, inputs: Inputs):
    """What becomes of z with these inputs."""
    return process.decode(Sample(z, process.encode(seen(inputs)).deterministic), TIMES).loc


def test_a_course_that_does_not_change_is_a_constant(process):
    z = encode(process, seen(constant(0.5, 1.0))).latent.loc
    found = [
        decode(process, z, inputs) for inputs in (constant(0.5, 1.0), constant(0.5, 1.0, knots=9))
    ]
    np.testing.assert_allclose(*found, atol=2e-5)


def test_later_inputs_do_not_change_what_came_before():
    """Causes come before effects, where there are dynamics."""
    settings = TAKING["neural-ode-process"](**SIZES)
    process = build_process(settings, observation_size=2, input_size=1, key=KEY)
    ts, z = np.array([0.0, 0.5, 0.5, 1.0], np.float32), jnp.ones(16)
    decode = eqx.filter_jit(lambda path: process.decode(Sample(z, path), TIMES).loc)
    paths = [Inputs(ts, np.array([[0.0], [0.0], [x], [x]], np.float32)) for x in (0.0, 3.0)]
    one, other = (np.asarray(decode(path)) for path in paths)
    before = TIMES < 0.45
    np.testing.assert_allclose(one[before], other[before], atol=1e-6)
    assert np.abs(one - other)[~before].max() > 1e-2


def test_a_process_with_inputs_is_saved_and_loaded(process, settings, tmp_path):
    save_process(tmp_path / "process", process, settings)
    again = load_process(tmp_path / "process")
    assert again.input_size == 2
    context = seen(constant(0.5, 1.0))
    np.testing.assert_array_equal(
        predict(again, context, TIMES, key=KEY).mean, predict(process, context, TIMES, key=KEY).mean
    )


def make_tasks(number: int = 12) -> Task:
    """Levels that are the first input, and a slope of each system's own."""
    rng = np.random.default_rng(0)
    ts = np.tile(np.linspace(0, 1, 6, dtype=np.float32), (number, 1))
    level, slope = rng.standard_normal((2, number, 1)).astype(np.float32)
    ys = np.stack([level + slope * ts, slope * ts], axis=-1)
    inputs = Inputs(np.zeros((number, 1), np.float32), np.stack([level, 0 * level], axis=-1))
    return Task(Observations(ts, ys, inputs=inputs), slope)


@pytest.mark.parametrize("settings", ["neural-ode-process"], indirect=True)
def test_gradients_are_finite_and_training_takes_inputs(process):
    tasks = make_tasks()
    settings = TrainingSettings(epochs=2, batch_size=4, context_sizes=(1, 3), target_sizes=(4, 6))
    fitted = fit(process, tasks, tasks[:4], settings=settings, objective=Elbo(), key=KEY)
    arrays = jax.tree.leaves(eqx.filter(fitted.process, eqx.is_array))
    assert all(np.isfinite(array).all() for array in arrays)


def test_a_kind_that_takes_none_says_so():
    with pytest.raises(UserError, match="makes no use of what is known"):
        build_process(LatentSettings(), observation_size=2, input_size=1, key=KEY)


@pytest.fixture(scope="module")
def inferring():
    settings = TAKING["neural-ode-process"](**SIZES)
    process = build_process(settings, observation_size=2, privileged_size=1, input_size=2, key=KEY)
    family = learn_family(process, make_tasks())
    return InferringPredictor(process, Refined(), family)


def test_a_family_answers_to_inputs(inferring):
    family, tasks = inferring.family, make_tasks()
    same = family.given(family.response.reference)
    np.testing.assert_allclose(same.centre, family.centre, atol=1e-6)
    # Coordinates of members, which are all the systems in random order, are uncorrelated with their
    # inputs, once these are known.
    inputs = tasks.observations.inputs
    order = np.random.default_rng(0).permutation(len(tasks))
    shifts = [family.response(Inputs(inputs.ts[i], inputs.values[i])) for i in order]
    level = inputs.values[order, 0, 0]
    told_apart = np.polyfit(level, family.members, 1)[0]
    plain = np.polyfit(level, family.members + np.array(shifts), 1)[0]
    assert np.abs(told_apart).max() < 0.2 * np.abs(plain).max()


def test_the_search_takes_inputs_and_privileged_values(inferring):
    tasks = make_tasks()
    contexts = Task(tasks.observations, tasks.privileged)
    found = predict_many(
        inferring, contexts, tasks.observations.ts, num_samples=16, keys=KEY, brief=True
    )
    assert np.isfinite(found.means).all()
    assert np.isfinite(found.findings.privileged.loc).all()
