import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lupi.compilation import compiled
from lupi.small_loops import LARGEST_LOOP, compile_small_loops_whole


def wave(x, factor: float):
    return jnp.sin(x) * factor


@pytest.mark.parametrize("brief", [True, False])
def test_a_compiled_function_computes_what_the_function_does(brief):
    x = np.linspace(0, 3, 7, dtype=np.float32)
    np.testing.assert_allclose(compiled(wave, brief=brief)(x, 2.0), 2 * np.sin(x), rtol=1e-6)


def test_it_works_inside_another_compiled_function():
    x = jnp.linspace(0, 3, 7)
    inside = jax.jit(lambda x: compiled(wave, brief=True)(x, 2.0) + 1)(x)
    np.testing.assert_allclose(inside, 2 * np.sin(x) + 1, rtol=1e-6)


def test_it_is_compiled_once():
    assert compiled(wave, brief=True) is compiled(wave, brief=True)


def test_small_loops_are_compiled_whole_and_a_users_options_left_alone():
    environment = {"XLA_FLAGS": "--xla_dump_to=here"}
    compile_small_loops_whole(environment)
    option = f"--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold={LARGEST_LOOP}"
    assert environment["XLA_FLAGS"] == f"--xla_dump_to=here {option}"
    compile_small_loops_whole(environment)
    assert environment["XLA_FLAGS"].count("xla_backend_extra_options") == 1
    assert option in os.environ["XLA_FLAGS"]  # since lupi was imported


def test_xla_knows_the_option():
    """A loop that is compiled whole stands in a call of its own."""

    def loop(x):
        return jax.lax.fori_loop(0, 10, lambda i, x: jnp.tanh(x) + i, x)

    small, large = (
        jax.jit(loop).lower(jnp.ones(size)).compile().as_text()
        for size in (LARGEST_LOOP // 16, LARGEST_LOOP)  # four bytes each
    )
    assert "xla_cpu_small_call" in small
    assert "xla_cpu_small_call" not in large
