"""Can one pass of a network do it, trained on systems that the learned simulator invents?

On the models that `lupi reproduce --preset best` left in a folder, as `benchmarks.finding`. Systems
are drawn from the family's prior, decoded at 5 to 9 random times with the decoder's noise, and
networks learn to tell their z: unlimited data for inference, and nothing to search at prediction.
The process's own encoder goes on learning; a flow has the place of its Gaussian; and a network
corrects its guess several times by what the decoder makes of it.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.scipy.stats import norm

from benchmarks.finding import NUM_SAMPLES, predictor_and_data
from lupi.data import Observations
from lupi.evaluation import draw_contexts, score
from lupi.experiments import EXPERIMENTS
from lupi.inference import AbstractInference, Amortised, Inferred, InferringPredictor
from lupi.inference.inference import decode_samples
from lupi.models import AbstractProcess, Sample
from lupi.prediction import predict_many

STEPS, BATCH, POINTS, RATE = 6_000, 32, 9, 1e-3
WIDTH, COUPLINGS, CORRECTIONS = 64, 6, 4
SMALL = 1e-3
"""About the smallest residual that tells something, in standard deviations of the data."""

NUM_SYSTEMS = 200


def measure_amortising() -> list[dict]:
    """The test error of each way to find z, of the LUPI model of seed 0, and what it covers."""
    rows = []
    for experiment in EXPERIMENTS:
        predictor, data = predictor_and_data(experiment, 0)
        process, family = predictor.process, predictor.family
        assert family is not None
        invented = _inventor(process, family)
        number, size = family.members.shape[1], process.observation_size
        further = _trained(_Own(process), process, family, invented).process
        flow, iterated = (
            _trained(kind(number, size, key=jax.random.key(1)), process, family, invented)
            for kind in (_Flow, _Iterated)
        )
        ways = {
            "encoder": InferringPredictor(process, Amortised()),
            "encoder, trained further": InferringPredictor(further, Amortised()),
            "flow": InferringPredictor(process, _Guessed(flow), family),
            "iterated": InferringPredictor(process, _Guessed(iterated), family),
            "refined": predictor,
        }
        seen = data.test[:NUM_SYSTEMS].observations
        contexts = draw_contexts(seen, (5, POINTS), key=jax.random.key(1))
        row: dict = {"experiment": experiment}
        for name, way in ways.items():
            found = predict_many(
                way, contexts, seen.ts, num_samples=NUM_SAMPLES, keys=jax.random.key(2)
            )
            overall = score(found, seen.ys).overall()
            row[name] = {metric: overall[metric].mean for metric in ("mse", "coverage_90")}
        rows.append(row)
        print(f"  {row}", flush=True)
    return rows


class _Own(eqx.Module):
    """The process's own encoder; its decoder is left alone, as nothing here asks it."""

    process: AbstractProcess

    def loss(self, process, family, z, active, context):
        """Of one invented system."""
        return -jnp.sum(self.process.encode(context).latent.log_prob(z))


class _Summary(eqx.Module):
    """Of the points of a context, in any order and number."""

    of_point: eqx.nn.MLP

    def __init__(self, size: int, *, key):
        self.of_point = eqx.nn.MLP(size, WIDTH, WIDTH, 2, key=key)

    def __call__(self, context: Observations, *more):
        each = jax.vmap(self.of_point)(
            jnp.concatenate([context.ts[:, None], context.ys, *more], axis=1)
        )
        mask = context.mask[:, None]
        mean = jnp.sum(each, axis=0, where=mask) / jnp.maximum(jnp.sum(mask), 1)
        return jnp.concatenate([mean, jnp.max(each, axis=0, where=mask, initial=-10.0)])


class _Flow(eqx.Module):
    """Affine couplings, each of which moves some coordinates by what the others and the context
    say; and a shift and a scale of all of them by the context."""

    summary: _Summary
    couplings: list[eqx.nn.MLP]
    last: eqx.nn.MLP

    def __init__(self, number: int, size: int, *, key):
        keys = jax.random.split(key, COUPLINGS + 2)
        self.summary = _Summary(1 + size, key=keys[0])
        self.last = eqx.nn.MLP(2 * WIDTH, 2 * number, WIDTH, 2, key=keys[1])
        self.couplings = [
            eqx.nn.MLP(2 * WIDTH + number, 2 * number, WIDTH, 2, key=one) for one in keys[2:]
        ]

    def loss(self, process, family, z, active, context):
        """Of one invented system."""
        summary = self.summary(context)
        shift, log_scale = jnp.split(self.last(summary), 2)
        x, volume = (active - shift) * jnp.exp(-log_scale), -jnp.sum(log_scale)
        for i in range(COUPLINGS):
            moved, shift, log_scale = self._coupling(i, x, summary)
            x = jnp.where(moved, (x - shift) * jnp.exp(-log_scale), x)
            volume = volume - jnp.sum(log_scale, where=moved)
        return -jnp.sum(norm.logpdf(x)) - volume

    def sample(self, process, family, context, number, key):
        """So many guesses."""
        summary = self.summary(context)
        shift, log_scale = jnp.split(self.last(summary), 2)

        def one(x):
            for i in reversed(range(COUPLINGS)):
                moved, by, factor = self._coupling(i, x, summary)
                x = jnp.where(moved, x * jnp.exp(factor) + by, x)
            return x * jnp.exp(log_scale) + shift

        return jax.vmap(one)(jax.random.normal(key, (number, len(shift))))

    def _coupling(self, i: int, x, summary):
        moved = jnp.arange(len(x)) % 2 == i % 2
        found = self.couplings[i](jnp.concatenate([summary, jnp.where(moved, 0.0, x)]))
        shift, log_scale = jnp.split(found, 2)
        return moved, shift, 2 * jnp.tanh(log_scale)


class _Iterated(eqx.Module):
    """A Gaussian whose mean is corrected by what is left between the context and what the mean
    decodes to."""

    summary: _Summary
    head: eqx.nn.MLP
    number: int = eqx.field(static=True)

    def __init__(self, number: int, size: int, *, key):
        keys = jax.random.split(key, 2)
        self.summary = _Summary(1 + 3 * size, key=keys[0])
        self.head = eqx.nn.MLP(2 * WIDTH + number, 2 * number, WIDTH, 2, key=keys[1])
        self.number = number

    def loss(self, process, family, z, active, context):
        """Of one invented system: of all guesses."""
        guesses = self._guesses(process, family, context)
        return -sum(jnp.sum(norm.logpdf(active, *guess)) for guess in guesses)

    def sample(self, process, family, context, number, key):
        """So many guesses."""
        loc, scale = self._guesses(process, family, context)[-1]
        return loc + scale * jax.random.normal(key, (number, self.number))

    def _guesses(self, process, family, context):
        loc, guesses = jnp.zeros(self.number), []
        deterministic = process.encode(context).deterministic
        for _ in range(1 + CORRECTIONS):
            decoded = process.decode(Sample(family.latent(loc), deterministic), context.ts).loc
            left = jax.lax.stop_gradient(context.ys - decoded)
            summary = self.summary(context, left, jnp.arcsinh(left / SMALL))
            move, log_scale = jnp.split(self.head(jnp.concatenate([summary, loc])), 2)
            loc = jax.lax.stop_gradient(loc) + move
            guesses.append((loc, jnp.exp(log_scale)))
        return guesses


class _Guessed(AbstractInference):
    """What such a network says, as an inference."""

    guess: _Flow | _Iterated

    def infer(
        self, process, family: Any, context, times, *, privileged=None, num_samples, horizon, key
    ) -> Inferred:
        """Samples of its distribution; of directions that nothing tells of, of the prior."""
        keys = jax.random.split(key)
        active = self.guess.sample(process, family, context, num_samples, keys[0])
        other = jax.random.normal(keys[1], (num_samples, family.other_axes.shape[1]))
        latents = jax.vmap(family.latent)(active, other)
        deterministic = process.encode(context).deterministic
        (decoded,) = decode_samples(process, latents, deterministic, [times], horizon=horizon)
        return Inferred(latents, decoded)


def _inventor(process, family):
    """Makes systems of the family: z, its active coordinates, and a context."""

    def invent(key):
        keys = jax.random.split(key, 5)
        active = family.prior.sample(1, key=keys[0])[0]
        z = family.latent(active, jax.random.normal(keys[1], (family.other_axes.shape[1],)))
        ts = jax.random.uniform(keys[2], (POINTS,))
        deterministic = process.encode(Observations.none(process.observation_size)).deterministic
        decoded = process.decode(Sample(z, deterministic), ts)
        number = jax.random.randint(keys[3], (), 5, POINTS + 1)
        return z, active, Observations(ts, decoded.sample(keys[4]), jnp.arange(POINTS) < number)

    return invent


def _trained(guess, process, family, invent):
    """The network, after so many invented systems."""
    weights, structure = eqx.partition(guess, eqx.is_inexact_array)
    optimiser = optax.chain(
        optax.clip_by_global_norm(10.0), optax.adam(optax.cosine_decay_schedule(RATE, STEPS))
    )

    def loss(weights, invented):
        network = eqx.combine(weights, structure)
        return jnp.mean(jax.vmap(lambda one: network.loss(process, family, *one))(invented))

    @jax.jit
    def train(weights, key):
        def step(carry, key):
            weights, state = carry
            invented = jax.vmap(invent)(jax.random.split(key, BATCH))
            updates, state = optimiser.update(jax.grad(loss)(weights, invented), state)
            return (optax.apply_updates(weights, updates), state), None

        keys = jax.random.split(key, STEPS)
        (weights, _), _ = jax.lax.scan(step, (weights, optimiser.init(weights)), keys)
        return weights

    return eqx.combine(train(weights, jax.random.key(0)), structure)
