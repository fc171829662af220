import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lupi._machinery.compilation import compiled
from lupi.prediction import predict

X = np.linspace(0, 3, 7, dtype=np.float32)


def wave(x, factor: float):
    return jnp.sin(x) * factor


@pytest.fixture(params=[True, False], ids=["brief", "optimised"])
def double_wave(request, optimised):
    run = compiled(wave, brief=request.param)
    return lambda x: run(x, 2.0)


def test_a_compiled_function_computes_what_the_function_does(double_wave):
    np.testing.assert_allclose(double_wave(X), 2 * np.sin(X), rtol=1e-6)


def test_it_works_inside_another_compiled_function(double_wave):
    inside = jax.jit(lambda x: double_wave(x) + 1)(X)
    np.testing.assert_allclose(inside, 2 * np.sin(X) + 1, rtol=1e-6)


def test_it_works_inside_a_mapped_function(double_wave):
    inside = jax.vmap(lambda x: double_wave(x) + 1)(X)
    np.testing.assert_allclose(inside, 2 * np.sin(X) + 1, rtol=1e-6)


def test_it_can_be_differentiated(double_wave):
    slope = jax.vmap(jax.grad(double_wave))(X)
    np.testing.assert_allclose(slope, 2 * np.cos(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("closed_over", [X, jnp.asarray(X)], ids=["numpy", "jax"])
def test_it_works_inside_a_compiled_function_that_closes_over_its_arguments(
    double_wave, closed_over
):
    inside = jax.jit(lambda shift: double_wave(closed_over) + shift)(1.0)
    np.testing.assert_allclose(inside, 2 * np.sin(X) + 1, rtol=1e-6)


def test_it_works_inside_a_mapped_function_that_closes_over_its_arguments(double_wave):
    inside = jax.vmap(lambda shift: double_wave(X) + shift)(jnp.arange(3.0))
    np.testing.assert_allclose(inside, 2 * np.sin(X) + np.arange(3.0)[:, None], rtol=1e-6)


def test_it_works_inside_a_differentiated_function_that_closes_over_its_arguments(double_wave):
    slope = jax.grad(lambda factor: (double_wave(X) * factor).sum())(3.0)
    np.testing.assert_allclose(slope, (2 * np.sin(X)).sum(), rtol=1e-5)


def test_it_works_inside_all_three_at_once(double_wave):
    def total(factor):
        return (double_wave(X) * factor).sum()

    slopes = jax.jit(jax.vmap(jax.grad(total)))(jnp.arange(3.0))
    np.testing.assert_allclose(slopes, (2 * np.sin(X)).sum(), rtol=1e-5)


def test_it_is_compiled_once():
    assert compiled(wave, brief=True) is compiled(wave, brief=True)


def test_an_error_of_the_function_itself_is_raised_as_it_is():
    def refuse(x):
        raise ValueError("no such wave")

    with pytest.raises(ValueError, match="no such wave"):
        compiled(refuse, brief=True)(X)


TIMES = np.linspace(0, 1, 9, dtype=np.float32)


def predicted_mean(process, observations):
    return predict(process, observations, TIMES, num_samples=4, key=jax.random.key(0)).mean


def test_predict_works_inside_a_compiled_function_that_closes_over_everything(nopi, observations):
    inside = jax.jit(lambda shift: predicted_mean(nopi, observations) + shift)(1.0)
    np.testing.assert_allclose(inside, predicted_mean(nopi, observations) + 1, atol=1e-5)


def test_predict_works_inside_a_mapped_function_that_closes_over_everything(nopi, observations):
    inside = jax.vmap(lambda shift: predicted_mean(nopi, observations) + shift)(jnp.arange(2.0))
    np.testing.assert_allclose(inside[1], predicted_mean(nopi, observations) + 1, atol=1e-5)


def test_what_is_made_of_a_prediction_works_there_too(nopi, observations):
    def summary(shift):
        found = predict(nopi, observations, TIMES, num_samples=4, key=jax.random.key(0))
        return found.samples + shift, found.quantile(0.5) + shift, found.crps(found.mean) + shift

    for inside, plain in zip(jax.jit(summary)(1.0), summary(1.0), strict=True):
        np.testing.assert_allclose(inside, plain, atol=1e-5)


@pytest.mark.parametrize("switched_on", [False, True])
@pytest.mark.parametrize("double", [False, True])
def test_it_computes_in_its_own_precision_whatever_is_switched_on(switched_on, double):
    third, kind = compiled(_third, brief=True, double=double), np.float64 if double else np.float32
    numbers = np.array([1.0, 2.0])
    with jax.enable_x64(switched_on):
        for given in (numbers, jnp.asarray(numbers)):
            found = np.asarray(third(given))
            assert found.dtype == kind
            assert found[0] == kind(1) / 3


def _third(numbers):
    return jnp.asarray(numbers, float) / 3
