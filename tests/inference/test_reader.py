"""Readers of privileged values, as several networks have them."""

import jax
import numpy as np

from lupi.inference.reader import fit_reader, of_one_size

RNG = np.random.default_rng(0)
TIMES = np.linspace(0.0, 1.0, 12)


def members(noise: float, number: int = 30):
    """Waves of several frequencies, which is what is privileged."""
    frequencies = RNG.uniform(2.0, 6.0, number)
    waves = np.sin(frequencies[:, None] * TIMES)[..., None]
    return waves + noise * RNG.normal(size=waves.shape), frequencies[:, None]


def test_readers_with_other_numbers_of_axes_are_stacked_and_read_the_same():
    smooth, rough = (fit_reader(*members(noise)) for noise in (0.0, 0.1))
    assert smooth.axes.shape != rough.axes.shape
    padded = of_one_size([smooth, rough])
    jax.tree.map(lambda *leaves: np.stack(leaves), *padded)
    wave = np.sin(4.0 * TIMES)[:, None].astype(np.float32)
    for before, after in zip((smooth, rough), padded, strict=True):
        np.testing.assert_allclose(after(wave).loc, before(wave).loc, rtol=1e-4)
        np.testing.assert_allclose(after(wave).loc, 4.0, atol=0.2)
