import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lupi.data import Observations, draw_context, split_randomly

MASKS = st.lists(st.booleans(), min_size=12, max_size=12)


def masked(mask) -> Observations:
    return Observations(jnp.linspace(0, 1, 12), jnp.zeros((12, 1)), jnp.array(mask))


@settings(max_examples=30, deadline=None)
@given(mask=MASKS, seed=st.integers(0, 1000))
def test_context_lies_in_target_target_in_the_real_points_and_sizes_in_their_ranges(mask, seed):
    split = split_randomly(
        masked(mask), context_sizes=(2, 4), target_sizes=(5, 8), key=jax.random.key(seed)
    )
    context, target = np.array(split.context.mask), np.array(split.target.mask)
    assert not (context & ~target).any()
    assert not (target & ~np.array(mask)).any()
    assert min(sum(mask), 2) <= context.sum() <= 4
    assert min(sum(mask), 5) <= target.sum() <= 8


def test_every_size_of_the_range_comes_up_and_no_other():
    keys = jax.random.split(jax.random.key(0), 300)
    draw = jax.vmap(lambda key: draw_context(masked([True] * 12), sizes=(5, 9), key=key).mask.sum())
    assert set(np.array(draw(keys))) == {5, 6, 7, 8, 9}


def test_every_point_is_equally_likely():
    keys = jax.random.split(jax.random.key(0), 4000)
    draw = jax.vmap(lambda key: draw_context(masked([True] * 12), sizes=(3, 3), key=key).mask)
    np.testing.assert_allclose(np.array(draw(keys)).mean(axis=0), 0.25, atol=0.03)
