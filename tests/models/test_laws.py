"""What holds for every process and every predictor: a new one is tested by being listed.

Kinds are listed by being in `KINDS`.
"""

from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lupi.data import Observations, Split, Task
from lupi.distributions import Uniform
from lupi.ideal import IdealObserver
from lupi.inference import InferringPredictor, learn_family
from lupi.models import KINDS, MeanTrajectory, build_process, load_process, save_process
from lupi.models.parts.privileged_ways import WAYS
from lupi.models.process import AbstractPrivilegedPart
from lupi.objectives import Elbo
from lupi.prediction import predict, predict_many
from lupi.registry import INFERENCES, OBJECTIVES
from lupi.systems import DampedOscillators
from lupi.training import TrainingSettings, fit

PLAIN, ALL = ", plain", ", all"
"""Without anything, and with privileged values and marked gaps."""

PROCESSES = {
    **{f"{kind}{ALL}": (kind, {}) for kind in KINDS},
    f"neural-ode-process{PLAIN}": ("neural-ode-process", {}),
    "latent-ode, controlled": ("latent-ode", {"aggregator": "controlled"}),
}
"""By name: the kind, and settings beside sizes."""

TIMES = np.linspace(0.0, 1.0, 7, dtype=np.float32)
KEY = jax.random.key(3)


def settings_of(name: str):
    kind, settings = PROCESSES[name]
    sizes = {"hidden_size": 8, "representation_size": 6, "marks_gaps": name.endswith(ALL)}
    steps = {"solver_steps": 24, "training_solver_steps": 8}
    known = {k: v for k, v in steps.items() if k in KINDS[kind].model_fields}
    return KINDS[kind](**sizes, **known, **settings)


def privileged_size_of(name: str) -> int:
    return 2 * (name.endswith(ALL) and KINDS[PROCESSES[name][0]].uses_privileged)


@pytest.fixture(scope="module")
def built():
    return {
        name: build_process(
            settings_of(name),
            observation_size=2,
            privileged_size=privileged_size_of(name),
            key=KEY,
        )
        for name in PROCESSES
    }


@pytest.fixture(params=PROCESSES)
def process(request, built):
    return built[request.param]


FAMILIES = {}


def family_of(process):
    """What such a process knows of a few systems."""
    if id(process) not in FAMILIES:
        rng = np.random.default_rng(0)
        ts = rng.uniform(size=(12, 9)).astype(np.float32)
        ys = np.sin(rng.uniform(2, 5, (12, 1, 1)) * ts[..., None] + np.arange(2))
        seen = Observations(ts, ys.astype(np.float32))
        tasks = Task(seen, np.zeros((12, 0), np.float32))
        FAMILIES[id(process)] = learn_family(process.without_privileged(), tasks)
    return FAMILIES[id(process)]


PREDICTORS = {
    **{name: lambda built, name=name: built[name] for name in PROCESSES},
    **{
        f"{name}, {inference}": lambda built, name=name, kind=kind: InferringPredictor(
            built[name], kind(), family_of(built[name]) if kind.needs_family else None
        )
        for name in PROCESSES
        for inference, kind in INFERENCES.items()
        if (name.endswith(ALL) if kind.needs_family else name == f"neural-ode-process{PLAIN}")
    },
    "mean trajectory": lambda built: MeanTrajectory(
        ts=TIMES, mean=np.stack([TIMES, -TIMES], axis=1), std=np.ones((7, 2), np.float32)
    ),
    "ideal observer": lambda built: IdealObserver.of(
        DampedOscillators(k=Uniform(0.2, 1.0)),
        horizon=10.0,
        noise=0.1,
        num_members=256,
        num_refined=64,
        key=KEY,
    ),
}


SLOW = {"ideal observer", *(name for name in PREDICTORS if name.endswith("refined"))}
"""Those that take long to compile; they have tests of their own that run always."""


LONG = {
    "latent-ode, controlled",
    *(f"{kind}{ALL}" for kind in KINDS if not kind.startswith(("neural-process", "conditional"))),
}
"""Those that take long to compile where more than a prediction is, such as gradients."""


def with_marks(names, slow):
    return [pytest.param(name, marks=[pytest.mark.slow] if name in slow else []) for name in names]


@pytest.fixture(params=with_marks(PREDICTORS, SLOW))
def predictor(request, built):
    return PREDICTORS[request.param](built)


def padded(observations: Observations, number: int, filling: float) -> Observations:
    """The same points, and more behind a false mask."""
    return Observations(
        np.concatenate([observations.ts, np.full(number, filling, np.float32)]),
        np.concatenate([observations.ys, np.full((number, 2), filling, np.float32)]),
        np.concatenate([observations.mask, np.zeros(number, bool)]),
    )


def assert_same(first, second, **tolerance):
    close = {"rtol": 2e-4, "atol": 2e-5} | tolerance
    np.testing.assert_allclose(first.means, second.means, **close)
    np.testing.assert_allclose(first.scales, second.scales, **close)


def ask(predictor, context, times=TIMES, num_samples=4):
    return predict(predictor, context, times, num_samples=num_samples, key=KEY)


# Of every predictor


def test_the_order_of_the_context_does_not_matter(predictor, observations):
    order = np.random.default_rng(0).permutation(10)
    shuffled = jax.tree.map(lambda leaf: np.asarray(leaf)[order], observations)
    assert_same(ask(predictor, observations), ask(predictor, shuffled))


def test_masked_points_change_nothing(predictor, observations):
    assert_same(ask(predictor, observations), ask(predictor, padded(observations, 3, 123.0)))


def test_without_any_observation_there_is_a_prediction(predictor):
    nothing = ask(predictor, Observations.none(2))
    assert np.isfinite(nothing.means).all()
    assert (nothing.scales > 0).all()
    hidden = padded(Observations.none(2), 5, 9.0)
    assert_same(nothing, ask(predictor, hidden))


def test_times_come_in_any_order_and_number(predictor, observations):
    whole, some = ask(predictor, observations), ask(predictor, observations, TIMES[[5, 0, 2]])
    np.testing.assert_allclose(some.means, whole.means[:, [5, 0, 2]], rtol=2e-4, atol=2e-5)


def test_times_beyond_the_horizon_are_predicted(predictor, observations):
    far = ask(predictor, observations, np.array([0.5, 2.7], np.float32))
    near = ask(predictor, observations, np.array([0.5], np.float32))
    assert np.isfinite(far.means).all()
    np.testing.assert_allclose(far.means[:, :1], near.means, rtol=1e-3, atol=1e-4)


def test_more_samples_are_the_same_samples_and_more(predictor, observations):
    few, many = ask(predictor, observations, num_samples=3), ask(predictor, observations)
    np.testing.assert_allclose(few.samples, many.samples[: len(few.samples)], rtol=2e-4, atol=1e-4)


def test_every_series_has_its_own_times(predictor, observations):
    contexts = jax.tree.map(lambda leaf: np.stack([leaf] * 3), observations)
    contexts = contexts.only(np.arange(10) < np.array([[3], [6], [10]]))
    times = np.stack([TIMES, TIMES**2, TIMES[::-1]])
    keys = jax.random.split(KEY, 3)
    together = predict_many(predictor, contexts, times, num_samples=4, keys=keys)
    for i, ts in enumerate(times):
        one = jax.tree.map(lambda leaf, i=i: leaf[i], contexts)
        alone = predict(predictor, one, ts, num_samples=4, key=keys[i])
        np.testing.assert_allclose(together.means[i], alone.means, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("predictor", with_marks(PREDICTORS, SLOW | LONG), indirect=True)
def test_it_works_inside_jit_vmap_and_grad(predictor, observations):
    plain = ask(predictor, observations)

    def mean_at(times):
        return ask(predictor, observations, times).mean

    np.testing.assert_allclose(jax.jit(mean_at)(TIMES), plain.mean, rtol=2e-4, atol=2e-5)
    mapped = jax.jit(jax.vmap(mean_at))(jnp.stack([TIMES, TIMES]))
    np.testing.assert_allclose(mapped[1], plain.mean, rtol=2e-4, atol=2e-5)
    slope = jax.jit(jax.grad(lambda scale: mean_at(scale * TIMES).sum()))(0.9)
    up, down = (float(mean_at(np.float32(s) * TIMES).sum()) for s in (0.91, 0.89))
    assert float(slope) == pytest.approx((up - down) / 0.02, rel=0.1, abs=5e-2)
    closed_over = jax.jit(lambda x: x + ask(predictor, observations).mean)(0.0)
    np.testing.assert_allclose(closed_over, plain.mean, rtol=2e-4, atol=2e-5)


# Of every process


@pytest.fixture(scope="module")
def split(observations):
    return Split(padded(observations, 2, 0.5), np.arange(12) < 4)


@eqx.filter_jit
def encode(process, observations, privileged=None):
    return process.encode(observations, privileged)


def unknown(process):
    return np.full(process.privileged_size, np.nan, np.float32)


def test_gradients_are_finite_whatever_is_known(process, split):
    @eqx.filter_jit
    def gradient(process, split, privileged):
        return eqx.filter_grad(lambda p: Elbo()(p, split, privileged, key=KEY)[0])(process)

    known = np.linspace(-1, 1, process.privileged_size).astype(np.float32)
    empty_context = Split(split.target, np.zeros(12, bool))
    for some in (split, empty_context):
        for privileged in (known, unknown(process)):
            leaves = jax.tree.leaves(gradient(process.in_training(), some, privileged))
            assert all(np.isfinite(leaf).all() for leaf in leaves)
            assert any(np.abs(leaf).max() > 0 for leaf in leaves)


LATENT = [kind for kind in KINDS if "privileged_way" in KINDS[kind].model_fields]


MADE_OF = {
    (kind, way, tuple(OBJECTIVES)[(i + place) % len(OBJECTIVES)]): i != place
    for place, kind in enumerate(LATENT)
    for i, way in enumerate(WAYS)
}
"""Every way and every objective with every kind that has a latent, both at once; and whether it is
left out where a kind takes long to compile, but for one that is another each time."""


@pytest.mark.parametrize(
    ("kind", "way", "objective"),
    [
        pytest.param(*one, marks=[pytest.mark.slow] if left and f"{one[0]}{ALL}" in LONG else [])
        for one, left in MADE_OF.items()
    ],
)
def test_loss_and_gradient_are_finite_with_every_way_and_every_objective(
    split, kind, way, objective
):
    settings = settings_of(f"{kind}{ALL}").model_copy(update={"privileged_way": way})
    process = build_process(settings, observation_size=2, privileged_size=2, key=KEY)
    known = np.array([-1, 1], np.float32)

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def loss(process):
        return OBJECTIVES[objective]()(process.in_training(), split, known, key=KEY)[0]

    found, gradient = loss(process)
    leaves = jax.tree.leaves(gradient)
    assert np.isfinite(found)
    assert all(np.isfinite(leaf).all() for leaf in leaves)
    assert any(np.abs(leaf).max() > 0 for leaf in leaves)


def test_every_way_and_every_objective_is_tried_with_every_kind_that_has_a_latent():
    assert {(kind, way) for kind, way, _ in MADE_OF} == set(product(LATENT, WAYS))
    assert {(kind, name) for kind, _, name in MADE_OF} == set(product(LATENT, OBJECTIVES))


def test_both_codes_of_a_split_are_those_of_its_sets_alone(process, split):
    privileged = np.linspace(-1, 1, process.privileged_size).astype(np.float32)
    target, context = eqx.filter_jit(lambda p, s, v: p.encode_split(s, v))(
        process, split, privileged
    )
    alone = encode(process, split.target, privileged), encode(process, split.context)
    for found, expected in zip((target, context), alone, strict=True):
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_unknown_privileged_values_are_no_privileged_values(process, split):
    with_nothing = encode(process, split.target, unknown(process)).latent
    np.testing.assert_allclose(
        with_nothing.loc, encode(process, split.target).latent.loc, rtol=1e-5, atol=1e-6
    )


def test_privileged_values_never_reach_a_prediction(process, observations):
    def spoil(node):
        if not isinstance(node, AbstractPrivilegedPart):
            return node
        return jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), node)

    spoiled = jax.tree.map(
        spoil, process, is_leaf=lambda node: isinstance(node, AbstractPrivilegedPart)
    )
    assert_same(ask(spoiled, observations), ask(process, observations), rtol=0, atol=0)
    bare = process.without_privileged()
    assert not bare.uses_privileged
    assert_same(ask(bare, observations), ask(process, observations))


def test_privileged_values_do_reach_the_training_code(process, split):
    if not process.uses_privileged:
        return
    low, high = (
        encode(process, split.target, np.full(2, value, np.float32)).latent.loc
        for value in (-1.0, 1.0)
    )
    assert np.abs(np.asarray(low) - np.asarray(high)).max() > 1e-4


@pytest.mark.parametrize("name", PROCESSES)
def test_a_saved_process_is_loaded_with_the_same_predictions(built, name, observations, tmp_path):
    save_process(tmp_path / "process", built[name], settings_of(name))
    loaded = load_process(tmp_path / "process")
    assert jax.tree.structure(loaded) == jax.tree.structure(built[name])
    first, second = ask(built[name], observations), ask(loaded, observations)
    np.testing.assert_array_equal(first.samples, second.samples)


def test_gaps_are_understood_or_refused(process, observations):
    gaps = np.zeros((10, 2), bool)
    gaps[1, 0] = gaps[4, 1] = True

    def with_gaps(filling):
        values = np.where(gaps, filling, observations.ys).astype(np.float32)
        return Observations(observations.ts, values, observations.mask, gaps)

    marks = any(
        getattr(node, "marks_gaps", False)
        for node in jax.tree.leaves(process, is_leaf=lambda node: hasattr(node, "marks_gaps"))
    )
    if not marks:
        with pytest.raises(ValueError, match="does not mark them"):
            process.encode(with_gaps(0.0))
        return
    assert_same(ask(process, with_gaps(0.0)), ask(process, with_gaps(1e6)), rtol=0, atol=0)


TRAINING = TrainingSettings(
    epochs=12, learning_rate=1e-2, batch_size=4, context_sizes=(3, 5), target_sizes=(8, 15)
)


@pytest.mark.parametrize("name", with_marks(PROCESSES, LONG))
def test_it_learns(built, name, tasks):
    process = built[name]
    privileged = np.repeat(tasks.privileged, max(process.privileged_size, 1), axis=1)
    tasks = eqx.tree_at(lambda t: t.privileged, tasks, privileged)
    fitted = fit(process, tasks, tasks, settings=TRAINING, key=KEY)
    assert type(fitted.process) is type(process)
    losses = [row["validation_loss"] for row in fitted.history]
    assert losses[-1] < losses[0] - 5
