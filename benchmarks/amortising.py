"""Can the encoder alone do it, trained further on systems that the learned simulator invents?

On the models that `lupi reproduce --preset best` left in a folder, as `benchmarks.finding`. Systems
are drawn from the family's prior, decoded at 5 to 9 random times with the decoder's noise, and the
encoder learns to tell their z: unlimited data for inference, and nothing to search at prediction.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.finding import NUM_SAMPLES, predictor_and_data
from lupi.data import Observations
from lupi.evaluation import draw_contexts
from lupi.experiments import EXPERIMENTS
from lupi.inference import Amortised, InferringPredictor
from lupi.models import Sample
from lupi.prediction import predict_many

STEPS, BATCH, POINTS, RATE = 6_000, 32, 9, 1e-3
NUM_SYSTEMS = 200


def measure_amortising() -> list[dict]:
    """The test error of each way to find z, of the LUPI model of seed 0."""
    rows = []
    for experiment in EXPERIMENTS:
        predictor, data = predictor_and_data(experiment, 0)
        further = _trained_further(predictor)
        seen = data.test[:NUM_SYSTEMS].observations
        contexts = draw_contexts(seen, (5, POINTS), key=jax.random.key(1))
        ways = {
            "encoder": InferringPredictor(predictor.process, Amortised()),
            "encoder, trained further": InferringPredictor(further, Amortised()),
            "refined": predictor,
        }
        row: dict = {"experiment": experiment}
        for name, way in ways.items():
            found = predict_many(
                way, contexts, seen.ts, num_samples=NUM_SAMPLES, keys=jax.random.key(2)
            )
            row[name] = float(np.mean((found.mean - seen.ys) ** 2))
        rows.append(row)
        print(f"  {row}", flush=True)
    return rows


def _trained_further(predictor: InferringPredictor):
    """The process with an encoder that has seen many more systems; its decoder is left alone."""
    process, family = predictor.process, predictor.family
    assert family is not None
    weights, structure = eqx.partition(process, eqx.is_inexact_array)
    optimiser = optax.adam(optax.cosine_decay_schedule(RATE, STEPS))

    def invent(key):
        keys = jax.random.split(key, 5)
        active = family.prior.sample(1, key=keys[0])[0]
        z = family.latent(active, jax.random.normal(keys[1], (family.other_axes.shape[1],)))
        ts = jax.random.uniform(keys[2], (POINTS,))
        deterministic = process.encode(Observations.none(process.observation_size)).deterministic
        decoded = process.decode(Sample(z, deterministic), ts)
        number = jax.random.randint(keys[3], (), 5, POINTS + 1)
        return z, Observations(ts, decoded.sample(keys[4]), jnp.arange(POINTS) < number)

    def loss(weights, invented):
        encoder = eqx.combine(weights, structure)
        z, contexts = invented
        codes = jax.vmap(lambda context: encoder.encode(context).latent)(contexts)
        return -jnp.mean(jnp.sum(codes.log_prob(z), axis=-1))

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
