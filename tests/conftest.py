"""What tests share: a small process, a few tasks, and one finished smoke run."""

import gc
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

# SlipCover counts the lines of what other finders load. jaxtyping puts its own before it, and would
# hide the package from it.
sys.meta_path.sort(key=lambda finder: type(finder).__name__ != "SlipcoverMetaPathFinder")

from lupi import distributions, preparation
from lupi._machinery import compilation
from lupi._machinery.memory import forget_compiled
from lupi.data import Observations, Task, generate_tasks
from lupi.experiments import quick_settings, reproduce
from lupi.models import NeuralODEProcessSettings, build_process
from lupi.systems import DampedOscillators

OPTIMISED, CONTEXTS = compilation.OPTIMISED, preparation.CONTEXTS

FEW_CONTEXTS = 24
"""By which it is learnt how far a model is to be trusted, where it need not be known well."""

SOONEST = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    # XLA's newer emitter of kernels writes code that runs faster, and takes three times as long to
    # compile a gradient.
    "--xla_cpu_use_fusion_emitters=false",
    # Left alone, XLA cuts a program into up to 32 parts to compile them side by side. The other
    # core is another worker's, and each part has costs and maps of memory of its own.
    "--xla_cpu_parallel_codegen_split_count=1",
)
"""What lets XLA compile with the least work."""


def compiled_as_for_users(function, *, brief):
    """What runs for long is compiled to run fast, whatever is done elsewhere."""
    options = compilation.SOON_READY if brief else OPTIMISED
    return compilation._compiled(function, tuple(options.items()), False)


def pytest_configure(config):
    """Where nothing slow runs, all is compiled to be ready soon: it takes a fifth of the time off.

    What users wait for longest, compiling, is most of what such tests do as well, and next to
    nothing of what they compile runs for longer than that. What does, learning how far a model is
    to be trusted, looks at fewer contexts.
    """
    if config.option.markexpr == "not slow":
        os.environ.setdefault("XLA_FLAGS", " ".join(SOONEST))
        compilation.OPTIMISED = compilation.SOON_READY
        preparation.CONTEXTS = FEW_CONTEXTS
        # Quantiles and scores are small programs that run often, and are ready as soon this way.
        distributions.compiled = compiled_as_for_users


FIRST = ("test_reproduce", "test_breakdown", "test_progress", "test_honest", "test_report")
"""Files that share what takes long to make, in an order in which one worker runs those that share
`smoke_run` and the other those that share `blended`: neither is made twice."""


def pytest_collection_modifyitems(items):
    """Some files first, the others in their order."""
    items.sort(key=lambda item: (*FIRST, item.path.stem).index(item.path.stem))


def pytest_collection_finish():
    """What is imported by now stays: the collector of garbage need not look at it again.

    Nor so often at the rest. Tracing makes millions of small objects that are no garbage.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="module", autouse=True)
def room_for_programs():
    """What was compiled is forgotten after a file, once there is much of it."""
    yield
    forget_compiled(most=0.45)


@pytest.fixture
def optimised(monkeypatch):
    """What runs long is compiled as users have it."""
    monkeypatch.setattr(compilation, "OPTIMISED", OPTIMISED)


@pytest.fixture
def all_contexts(monkeypatch):
    """How far a model is to be trusted is learnt from as many contexts as users have."""
    monkeypatch.setattr(preparation, "CONTEXTS", CONTEXTS)


@pytest.fixture
def compilations():
    """What XLA has compiled since."""
    names = []

    def listen(event: str, seconds: float, **details) -> None:
        if "backend_compile" in event:
            names.append(details.get("fun_name"))

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield names
    jax.monitoring.unregister_event_duration_listener(listen)


@pytest.fixture(scope="session")
def lupi():
    return build_process(
        NeuralODEProcessSettings(), observation_size=2, privileged_size=1, key=jax.random.key(0)
    )


@pytest.fixture(scope="session")
def nopi():
    return build_process(NeuralODEProcessSettings(), observation_size=2, key=jax.random.key(0))


@pytest.fixture(scope="session")
def observations():
    """Ten points of a damped oscillation, all real, at uneven times."""
    ts = jnp.sort(jax.random.uniform(jax.random.key(1), (10,)))
    ys = jnp.stack([jnp.cos(5 * ts), -jnp.cos(5 * ts)], axis=1) * jnp.exp(-ts)[:, None]
    return Observations(ts, ys, jnp.ones(10, dtype=bool))


@pytest.fixture(scope="session")
def tasks() -> Task:
    """Twelve oscillators of different stiffness on 21 times."""
    from numpyro.distributions import Uniform

    system = DampedOscillators(k=Uniform(0.2, 1.0), privileged=("k",))
    times = np.linspace(0.0, 10.0, 21)
    return generate_tasks(system, times, 12, time_unit=10.0, key=jax.random.key(2))


@pytest.fixture(scope="session")
def smoke_run(tmp_path_factory):
    """An output folder of a finished smoke run: two experiments, both models, two seeds."""
    out = tmp_path_factory.mktemp("smoke") / "out"
    reproduce(
        quick_settings(epochs=2),
        out,
        experiments=("stiffness", "lotka-volterra"),
        seeds=2,
        workers=1,
    )
    return out


@pytest.fixture(scope="session")
def blended():
    """A forecaster of three small networks, blended with plain guesses."""
    from blended_runs import RUNS, fit

    return fit(RUNS)
