import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lupi.compilation import compiled


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
