"""What held-out series teach of how far a model is to be trusted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lupi import preparation
from lupi.data import Observations, Task
from lupi.distributions import Normal, NormalMixture
from lupi.inference import Amortised, InferringPredictor, Refined
from lupi.inference.trust import Course, Gathering, Trust
from lupi.models import Findings, Prediction
from lupi.prediction import predict_many
from lupi.preparation import INFLATIONS, NOISES, climb, prepare
from toy_processes import NOISE, Known

KEY = jax.random.key(0)

pytestmark = pytest.mark.usefixtures("all_contexts")


def noisy_lines(number: int, noise: float, seed: int) -> Task:
    """y = a + b t, with more or less noise than the decoder of `Known` says."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((number, 2)).astype(np.float32)
    ts = np.sort(rng.uniform(0, 1, (number, 30))).astype(np.float32)
    ys = z[:, :1] + z[:, 1:] * ts + noise * rng.standard_normal(ts.shape)
    return Task(Observations(ts, ys[..., None].astype(np.float32)), z)


@pytest.mark.parametrize("factor", [0.4, 3.0])
def test_a_decoder_that_is_wrong_about_its_noise_is_corrected(factor):
    training, held_out, test = (
        noisy_lines(number, factor * NOISE, seed) for seed, number in enumerate((200, 96, 100))
    )
    process = Known("line")
    family = prepare(process, Refined(), training, held_out, key=KEY)
    assert family is not None
    # With one or two points seen a line may go anywhere, and the noise does not matter.
    np.testing.assert_allclose(family.trust.noise[2:], factor, rtol=0.25)
    np.testing.assert_allclose(family.trust.inflation[-2:], factor, rtol=0.5)
    seen = test.observations
    contexts = Observations(seen.ts[:, ::4], seen.ys[:, ::4])
    predictor = InferringPredictor(process, Refined(), family)
    found = predict_many(predictor, contexts, seen.ts[:, 1::4], num_samples=64, keys=KEY)
    inside = np.abs(np.asarray(found.probability_below(seen.ys[:, 1::4])) - 0.5) <= 0.45
    assert 0.86 < inside.mean() < 0.94
    assert found.findings.surprise.mean() == pytest.approx(0.5, abs=0.12)


def test_a_decoder_that_is_wrong_about_its_noise_in_the_middle_is_corrected_there():
    def lines(number: int, seed: int) -> Task:
        tasks = noisy_lines(number, 0.0, seed)
        seen = tasks.observations
        noise = NOISE * 4 ** np.where(seen.ts < 0.5, 2 * seen.ts, 2 - 2 * seen.ts)
        ys = seen.ys + (noise * np.random.default_rng(seed).standard_normal(noise.shape))[..., None]
        return Task(Observations(seen.ts, ys.astype(np.float32)), tasks.privileged)

    process = Known("line")
    family = prepare(process, Refined(), lines(200, 0), lines(96, 1), key=KEY)
    seen = lines(200, 2).observations
    contexts = Observations(seen.ts[:, ::4], seen.ys[:, ::4])
    predictor = InferringPredictor(process, Refined(), family)
    found = predict_many(predictor, contexts, seen.ts[:, 1::4], num_samples=64, keys=KEY)
    inside = np.abs(np.asarray(found.probability_below(seen.ys[:, 1::4])) - 0.5) <= 0.45
    third = (3 * seen.ts[:, 1::4]).astype(int)
    covered = [inside[third == i].mean() for i in range(3)]
    assert min(covered) > 0.85
    assert max(covered) < 0.95


def test_a_stray_system_does_not_make_the_intervals_of_all_others_wide():
    training, held_out = (noisy_lines(number, NOISE, seed) for seed, number in enumerate((200, 96)))
    seen = held_out.observations
    ys = np.array(seen.ys)
    ys[0] += 3.0 * (np.arange(30) % 2)[:, None]  # no line at all
    strays = Task(Observations(seen.ts, ys), held_out.privileged)
    family = prepare(Known("line"), Refined(), training, strays, key=KEY)
    assert family is not None
    np.testing.assert_allclose(family.trust.noise[2:], 1.0, rtol=0.25)


class Bending(Known):
    """Right about lines at thirty times, and wrong between them."""

    def decode(self, sample, ts, *, horizon=1, key=None):
        line = super().decode(sample, ts)
        bends = 0.3 * jnp.sin(29 * jnp.pi * jnp.asarray(ts))
        return Normal(line.loc + bends[:, None], line.scale)


def test_a_decoder_that_bends_between_the_times_all_series_share_is_found_out(monkeypatch):
    monkeypatch.setattr(preparation, "SIZES", (8, 16))  # for which one program is compiled
    ts = np.tile(np.linspace(0, 1, 30, dtype=np.float32), (200, 1))
    z = np.random.default_rng(0).standard_normal((200, 2)).astype(np.float32)
    tasks = Task(Observations(ts, (z[:, :1] + z[:, 1:] * ts)[..., None]), z)
    family = prepare(Bending("line"), Refined(), tasks[:100], tasks[100:], key=KEY)
    assert family is not None
    # It is asked between them, and there a sine's mean square is a half.
    expected = 0.3 * np.sqrt(0.5) / NOISE
    np.testing.assert_allclose(family.trust.noise[-2:], expected, rtol=0.25)


def test_few_held_out_series_change_little():
    training, held_out = noisy_lines(200, 3 * NOISE, 0), noisy_lines(1, 3 * NOISE, 1)
    family = prepare(Known("line"), Refined(), training, held_out, key=KEY)
    assert family is not None
    assert (np.asarray(family.trust.noise) < 1.6).all()


def test_few_held_out_series_do_not_make_a_model_surer_of_itself():
    training, held_out = noisy_lines(200, 0.3 * NOISE, 0), noisy_lines(2, 0.3 * NOISE, 1)
    family = prepare(Known("line"), Refined(), training, held_out, key=KEY)
    assert family is not None
    assert (np.asarray(family.trust.inflation) > 0.8).all()


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_a_privileged_value_that_is_one_and_the_same_is_read_as_that(value):
    training, held_out = noisy_lines(200, NOISE, 0), noisy_lines(96, NOISE, 1)
    same = [
        Task(one.observations, np.full_like(one.privileged, value)) for one in (training, held_out)
    ]
    family = prepare(Known("line"), Refined(), *same, key=KEY)
    assert family is not None
    found = family.read(family.means[0])
    np.testing.assert_allclose(found.loc, value, atol=1e-5)
    assert (np.asarray(found.scale) > 0).all()
    assert (np.asarray(found.scale) < 1e-3).all()
    assert np.isfinite(family.trust.gathering.factors).all()


def test_the_encoder_alone_needs_no_preparation():
    tasks = noisy_lines(8, NOISE, 0)
    assert prepare(Known("line"), Amortised(), tasks, tasks, key=KEY) is None


def test_climbing_finds_a_single_summit_from_anywhere_and_looks_at_few():
    for start in (INFLATIONS[0], 1.0, INFLATIONS[-1]):
        looked = []

        def worth(value, looked=looked):
            looked.append(value)
            return -((np.log(value) - np.log(2.0)) ** 2)

        best = min(NOISES, key=lambda value: abs(np.log(value / 2.0)))
        assert climb(worth, NOISES, start) == best
        assert len(looked) == len(set(looked))


def test_factors_are_interpolated_between_numbers_of_points():
    factors = np.array([1.0, 4.0], np.float32)
    sizes = np.array([1.0, 16.0], np.float32)
    trust = Trust(sizes, factors, factors[::-1], np.array(1.0))
    found = [float(trust.inflation_at(np.array(number))) for number in (0, 1, 4, 16, 100)]
    np.testing.assert_allclose(found, [1, 1, 2, 4, 4], rtol=1e-5)
    np.testing.assert_allclose(trust.noise_at(np.array(4), np.array([0.0, 2.0])), 2, rtol=1e-5)


def test_factors_are_interpolated_in_time_and_stay_beyond_it():
    one = np.ones(1, np.float32)
    trust = Trust(one, one, 3 * one, np.array(1.0), Course(np.array([1.0, 4.0, 1.0])))
    times = np.array([0.0, 0.25, 0.5, 1.0, 7.0])
    np.testing.assert_allclose(trust.noise_at(np.array(4), times), [3, 6, 12, 3, 3], rtol=1e-5)


def test_gathered_values_keep_their_mean_and_what_trajectories_do_not_tell():
    gathering = Gathering(np.array([1.0, 16.0]), np.array([1.0, 0.25]))
    values = Normal(jnp.array([[1.0], [3.0]]), jnp.array([[0.5], [0.7]]))
    for number, expected in ((0, [1, 3]), (1, [1, 3]), (4, [1.5, 2.5]), (16, [1.75, 2.25])):
        found = gathering(values, np.array(number))
        np.testing.assert_allclose(found.loc[:, 0], expected, rtol=1e-5)
        np.testing.assert_array_equal(found.scale, values.scale)


def answers_about_values(
    apart: float, error: float, seed: int, number: int = 400, freedom: float = np.inf
):
    """Samples of a value that lie `apart` from their mean, of which the truth lies `error`, as in
    Student's distribution of such freedom."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((number, 1))
    mean = truth + error * rng.standard_normal((number, 1))
    if np.isfinite(freedom):
        mean = truth + error * rng.standard_t(freedom, (number, 1))
    locs = mean[:, None] + apart * rng.standard_normal((number, 64, 1))
    values = Normal(locs, np.full(locs.shape, 1e-3))
    zeros = np.zeros((number, 64, 1, 1))
    findings = Findings(values, *[zeros[:, 0, 0, 0]] * 3)
    keys = jax.random.split(KEY, number)
    prediction = Prediction(zeros[:, 0, 0], zeros, zeros, keys, findings)
    seen = Observations(zeros[:, 0, 0], zeros[:, 0])
    questions = preparation._Questions(np.arange(number), seen, seen)
    return [preparation._Answers(questions, prediction)], truth


def test_values_are_gathered_as_far_as_they_are_known_for_each_number_of_points():
    few, truth = answers_about_values(apart=0.2, error=0.2, seed=0)
    many, _ = answers_about_values(apart=0.2, error=0.05, seed=0)
    _, gathering = preparation._of_values([few, many], [truth], (1, 8), 1.0)
    # Each by steps of 15 %, and then both by one factor.
    np.testing.assert_allclose(gathering.factors[0], 1.0, rtol=0.15)
    np.testing.assert_allclose(gathering.factors[1] / gathering.factors[0], 0.25, rtol=0.15)


def test_a_system_taken_for_another_does_not_scatter_the_values_of_all_others():
    (answer,), truth = answers_about_values(apart=0.2, error=0.2, seed=0)
    truth[:4] += 5.0
    _, gathering = preparation._of_values([[answer]], [truth], (8,), 1.0)
    np.testing.assert_allclose(gathering.factors, 1.0, rtol=0.15)


def test_nine_tenths_of_the_values_are_covered_where_some_errors_are_large():
    (answer,), truth = answers_about_values(apart=0.2, error=0.2, seed=0, freedom=2.0)
    value, gathering = preparation._of_values([[answer]], [truth], (8,), 1.0)
    (other,), new = answers_about_values(apart=0.2, error=0.2, seed=1, freedom=2.0)
    reach = other.distances_of_values(new, value, float(gathering.factors[0]))
    assert 0.87 < (reach < 1.6449).mean() < 0.93


def test_without_privileged_values_there_is_nothing_to_gather():
    (answer,), truth = answers_about_values(apart=0.2, error=0.2, seed=0)
    value, gathering = preparation._of_values([[answer]], [np.full_like(truth, np.nan)], (8,), 1.0)
    assert value == 1.0
    np.testing.assert_array_equal(gathering.factors, 1.0)


def test_values_that_are_no_numbers_change_nothing():
    (answer,), truth = answers_about_values(apart=0.2, error=0.05, seed=0)
    answer.findings.privileged.loc[0] = np.nan
    value, gathering = preparation._of_values([[answer]], [truth], (8,), 1.0)
    assert value == 1.0
    np.testing.assert_array_equal(gathering.factors, 1.0)


def test_intervals_of_recovered_values_hold_for_few_points_and_many():
    training, held_out, test = (
        noisy_lines(number, 3 * NOISE, seed) for seed, number in enumerate((200, 96, 300))
    )
    process = Known("line")
    family = prepare(process, Refined(), training, held_out, key=KEY)
    predictor, seen = InferringPredictor(process, Refined(), family), test.observations
    for stride in (15, 2):  # two points, and fifteen
        contexts = Observations(seen.ts[:, ::stride], seen.ys[:, ::stride])
        found = predict_many(predictor, contexts, seen.ts[:, :1], num_samples=64, keys=KEY)
        value = found.findings.privileged
        loc, scale = (np.moveaxis(np.asarray(part), 1, 0) for part in (value.loc, value.scale))
        lower, upper = NormalMixture(loc, scale).interval(coverage=0.9)
        inside = (lower <= test.privileged) & (test.privileged <= upper)
        assert 0.84 < inside.mean() < 0.96
