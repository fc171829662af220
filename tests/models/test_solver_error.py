"""The solver's error in predictions of trained models, those of seed 0 of `make reproduce`."""

from pathlib import Path

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lupi.data import draw_context, generate_tasks
from lupi.experiments import EXPERIMENTS
from lupi.models import Sample, load_process

TRAINED = Path(__file__).parents[1] / "trained"
NUM_SYSTEMS, NUM_SAMPLES = 12, 32


@eqx.filter_jit
def exactly_decoded(process, latents, times):
    """Means decoded from states of an adaptive solver of high order at a tight tolerance."""

    def one(z):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, state, _: process.latent_ode.vector_field(t, state, z)),
            diffrax.Dopri8(),
            t0=0.0,
            t1=1.0,
            dt0=None,
            y0=process.initial_state(z),
            saveat=diffrax.SaveAt(ts=times),
            stepsize_controller=diffrax.PIDController(rtol=1e-10, atol=1e-10),
        )
        return jax.vmap(lambda state: process.decoder(state, z).loc)(solution.ys)

    return jax.vmap(one)(latents)


@pytest.mark.parametrize(
    "experiment", ["stiffness", pytest.param("damping", marks=pytest.mark.slow), "lotka-volterra"]
)
@pytest.mark.parametrize("model", [pytest.param("nopi", marks=pytest.mark.slow), "lupi"])
def test_a_trained_models_prediction_is_solved_to_1e_4_and_1_percent_of_its_std(experiment, model):
    process = load_process(TRAINED / f"{experiment}-{model}.safetensors").without_privileged()
    grid = np.linspace(0.0, EXPERIMENTS[experiment].source.horizon, 100)
    tasks = generate_tasks(
        EXPERIMENTS[experiment].source.system,
        grid,
        NUM_SYSTEMS,
        time_unit=10.0,
        key=jax.random.key(77),
    )

    def sample(observations, key):
        context_key, latent_key = jax.random.split(key)
        code = process.encode(draw_context(observations, sizes=(5, 9), key=context_key))
        return code.latent.sample(latent_key, (NUM_SAMPLES,))

    keys = jax.random.split(jax.random.key(0), NUM_SYSTEMS)
    latents = jax.jit(jax.vmap(sample))(tasks.observations, keys).reshape(-1, 16)
    times = jnp.linspace(0.0, 1.0, 100)
    decode = eqx.filter_jit(lambda p, zs: jax.vmap(lambda z: p.decode(Sample(z), times).loc)(zs))
    decoded = decode(process, latents)
    with jax.enable_x64(True):
        doubled = jax.tree.map(
            lambda leaf: jnp.asarray(np.asarray(leaf), jnp.float64) if eqx.is_array(leaf) else leaf,
            (process, latents, times),
        )
        exact = np.asarray(exactly_decoded(*doubled))
    decoded, exact = (
        np.asarray(values).reshape(NUM_SYSTEMS, NUM_SAMPLES, 100, 2) for values in (decoded, exact)
    )
    error = np.abs(decoded.mean(axis=1) - exact.mean(axis=1))
    assert error.max() < 1e-4
    assert (error / exact.std(axis=1, ddof=1)).max() < 0.01
