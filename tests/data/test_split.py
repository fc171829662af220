import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from lupi._machinery.compilation import compiled
from lupi.data import Contexts, Observations, draw_context, split_randomly

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
    assert set(np.array(compiled(draw, brief=True)(keys))) == {5, 6, 7, 8, 9}


def test_every_point_is_equally_likely():
    keys = jax.random.split(jax.random.key(0), 4000)
    draw = jax.vmap(lambda key: draw_context(masked([True] * 12), sizes=(3, 3), key=key).mask)
    drawn = np.array(compiled(draw, brief=True)(keys))
    np.testing.assert_allclose(drawn.mean(axis=0), 0.25, atol=0.03)


def kinds_of(number: int = 2000, mask=(True,) * 12, **shares):
    """Contexts and targets, as rows of booleans, of such kinds."""
    contexts = Contexts(**shares)

    def draw(key):
        split = split_randomly(
            masked(mask), context_sizes=(2, 15), target_sizes=(5, 8), contexts=contexts, key=key
        )
        return split.in_context & split.target.mask, split.target.mask

    keys = jax.random.split(jax.random.key(0), number)
    return map(np.array, compiled(jax.vmap(draw), brief=True)(keys))


@pytest.mark.parametrize("kind", ["random", "first", "gap", "one"])
def test_a_context_of_each_kind_leaves_something_to_forecast(kind):
    real = np.arange(12) % 5 != 3
    # Beside a little of another kind, so that sizes follow the series.
    context, target = kinds_of(mask=real, **{kind: 1.0, "none": 1e-6})
    sizes = context.sum(axis=1)
    assert set(sizes) == ({1} if kind == "one" else set(range(2, real.sum())))
    assert not (context & ~target).any()
    assert not (target & ~real).any()
    assert (target.sum(axis=1) >= np.maximum(sizes, 5)).all()


def test_the_first_points_stand_before_what_is_to_be_forecast():
    context, _ = kinds_of(first=1.0)
    places = np.arange(12)
    after = (places > np.where(context, places, -1).max(axis=1, keepdims=True)).sum(axis=1)
    assert (after > 0).mean() > 0.7  # the others end with the last point but one, or leave gaps
    earliest = np.where(context, places, 99).min(axis=1)
    assert (earliest == 0).mean() > 0.7
    # Mirrored, the last points are the first.
    mirrored, _ = kinds_of(last=1.0)
    np.testing.assert_allclose(mirrored.mean(axis=0)[::-1], context.mean(axis=0), atol=0.04)


def test_kinds_come_as_often_as_their_shares_say():
    context, _ = kinds_of(none=1.0, one=3.0)
    np.testing.assert_allclose((context.sum(axis=1) == 1).mean(), 0.75, atol=0.03)


def test_without_another_kind_contexts_are_as_they_always_were():
    key = jax.random.key(3)
    sizes = {"context_sizes": (2, 4), "target_sizes": (5, 8), "key": key}
    first = split_randomly(masked([True] * 12), **sizes)
    again = split_randomly(masked([True] * 12), contexts=Contexts(random=7.0), **sizes)
    np.testing.assert_array_equal(first.in_context, again.in_context)


def test_shares_must_be_some():
    with pytest.raises(ValidationError, match="at least one kind"):
        Contexts()


def test_with_less_room_it_is_the_same_split():
    ts, ys = np.linspace(0, 1, 12, dtype=np.float32), np.arange(24, dtype=np.float32)
    seen = Observations(ts, ys.reshape(12, 2), np.arange(12) != 3)
    split = split_randomly(seen, context_sizes=(2, 4), target_sizes=(5, 7), key=jax.random.key(0))
    less = split.with_room(7)
    assert less.target.ts.shape == (7,)
    for whole, part in ((split.target, less.target), (split.context, less.context)):
        np.testing.assert_array_equal(part.ts[part.mask], np.asarray(whole.ts)[whole.mask])
        np.testing.assert_array_equal(part.ys[part.mask], np.asarray(whole.ys)[whole.mask])
    assert split.with_room(11) is split
