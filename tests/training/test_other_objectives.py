"""The loop trains whatever process on whatever objective."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from lupi.data import Observations, Split
from lupi.distributions import Normal
from lupi.models import AbstractProcess, Code, Sample
from lupi.models.initialisation import initialise
from lupi.models.keys import key_for
from lupi.models.parts.layers import MLP
from lupi.models.process import no_latent
from lupi.objectives import AbstractObjective, Elbo
from lupi.prediction import predict
from lupi.training import TrainingSettings, fit

SETTINGS = TrainingSettings(
    epochs=4, learning_rate=3e-3, context_sizes=(3, 5), target_sizes=(8, 15)
)


class Npml(AbstractObjective):
    """The log-likelihood of the target, by several samples of z from the context alone."""

    num_samples: int

    def __call__(self, process, split, privileged, *, key):
        _, context = process.encode_split(split, privileged, key=key)
        latents = context.latent.sample(key, (self.num_samples,))

        def log_likelihood(latent):
            sample = Sample(latent, context.deterministic)
            decoded = process.decode(sample, split.target.ts, key=key)
            return jnp.sum(decoded.log_prob(split.target.ys), where=split.target.known)

        log_likelihoods = jax.vmap(log_likelihood)(latents)
        bound = jax.nn.logsumexp(log_likelihoods) - jnp.log(self.num_samples)
        return -bound, {"mean_log_likelihood": log_likelihoods.mean()}


class WithPrivilegedLoss(AbstractObjective):
    """The bound, and how well the first entries of z tell the privileged values."""

    weight: float

    def __call__(self, process, split, privileged, *, key):
        loss, terms = Elbo()(process, split, privileged, key=key)
        _, context = process.encode_split(split, privileged, key=key)
        error = jnp.sum((context.latent.loc[: privileged.size] - privileged) ** 2)
        return loss + self.weight * error, terms | {"privileged_error": error}


def squared_error(process, split, privileged, *, key):
    """A plain function: the squared error of what the middle of z is decoded to."""
    _, context = process.encode_split(split, privileged, key=key)
    decoded = process.decode(Sample(context.latent.loc, context.deterministic), split.target.ts)
    return jnp.sum((decoded.loc - split.target.ys) ** 2, where=split.target.known), {}


@pytest.mark.parametrize(
    ("objective", "terms"),
    [
        (Npml(num_samples=5), {"mean_log_likelihood"}),
        (WithPrivilegedLoss(weight=3.0), {"log_likelihood", "kl", "privileged_error"}),
        (squared_error, set()),
    ],
    ids=["several samples", "loss on privileged values", "plain function"],
)
def test_an_objective_of_another_shape_is_trained_on_and_its_terms_are_shown(
    objective, terms, lupi, tasks
):
    key = jax.random.key(0)
    history = fit(lupi, tasks, tasks[:4], settings=SETTINGS, objective=objective, key=key).history
    assert history[-1]["train_loss"] < history[0]["train_loss"]
    assert history[-1]["validation_loss"] < history[0]["validation_loss"]
    names = {f"{part}_{name}" for part in ("train", "validation") for name in {"loss"} | terms}
    assert set(history[-1]) == {"epoch"} | names


def test_a_loss_on_privileged_values_brings_their_error_down(lupi, tasks):
    history = fit(
        lupi,
        tasks,
        tasks[:4],
        settings=SETTINGS,
        objective=WithPrivilegedLoss(weight=3.0),
        key=jax.random.key(0),
    ).history
    errors = [row["validation_privileged_error"] for row in history]
    assert errors[-1] < errors[0]


class DroppingProcess(AbstractProcess):
    """A conditional process that drops half of its numbers at random, wherever it has a key."""

    encoder: MLP
    decoder: MLP
    observation_size: int = eqx.field(static=True, default=2)
    privileged_size: int = eqx.field(static=True, default=0)

    @staticmethod
    def drop(values: Float[Array, "..."], key, name: str):
        if key is None:
            return values
        kept = jax.random.bernoulli(key_for(key, name), 0.5, values.shape)
        return jnp.where(kept, 2 * values, 0.0)

    def represent(self, observations, *, key):
        points = self.encoder(jnp.asarray(observations.ts)[:, None], observations.ys)
        return self.drop(points, key, "encoder")

    def summarise(self, points, mask, privileged, *, key):
        total = jnp.sum(points, axis=0, where=mask[:, None])
        return Code(no_latent(), total / jnp.maximum(mask.sum(), 1))

    def decode(self, sample, ts, *, horizon=1, key=None):
        known = self.drop(sample.deterministic, key, "decoder")
        means = self.decoder(jnp.asarray(ts)[:, None], known)
        return Normal(means, jnp.full_like(means, 0.2))


@pytest.fixture(scope="module")
def dropping():
    shapes = DroppingProcess(MLP((3, 16, 8)), MLP((9, 16, 2)))
    return initialise(shapes, gain=1.0, key=jax.random.key(0))


@pytest.fixture(scope="module")
def trained(dropping, tasks):
    settings = SETTINGS.model_copy(update={"epochs": 20})
    return fit(dropping, tasks, tasks[:4], settings=settings, key=jax.random.key(0))


def test_a_process_that_is_random_in_training_is_trained(trained):
    losses = [row["train_loss"] for row in trained.history]
    assert losses[-1] < losses[0] / 2


def test_training_hands_its_key_to_encoder_and_decoder(dropping, observations):
    def both(key):
        code = dropping.encode(observations, key=key)
        sample = Sample(jnp.zeros(0), jnp.ones(8))
        return code.deterministic, dropping.decode(sample, observations.ts, key=key).loc

    first, again, other = (both(jax.random.key(seed)) for seed in (0, 0, 1))
    for one, same, different in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(one, same)
        assert not np.allclose(one, different)


def test_a_step_of_training_is_as_random_as_the_process(dropping, observations):
    split = Split(observations, jnp.arange(10) < 5)
    losses = [
        float(Elbo()(dropping, split, jnp.zeros(0), key=jax.random.key(seed))[0])
        for seed in range(4)
    ]
    assert len(set(losses)) == 4


def test_its_predictions_are_not_random(trained, observations):
    """It has no z, so that without a key nothing is left that could differ."""
    times = np.linspace(0.0, 1.0, 5)
    first, second = (
        predict(trained.process, observations, times, num_samples=2, key=jax.random.key(seed))
        for seed in (0, 1)
    )
    np.testing.assert_array_equal(first.means, second.means)
    np.testing.assert_array_equal(first.means[0], first.means[1])


def test_it_predicts_without_any_observation_too(trained):
    times = np.linspace(0.0, 1.0, 5)
    prior = predict(trained.process, Observations.none(2), times, key=jax.random.key(0))
    assert np.isfinite(prior.mean).all()
