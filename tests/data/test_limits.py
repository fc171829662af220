"""Quantities that cannot be just any number, against closed forms."""

import numpy as np
import pytest
import scoringrules
from scipy import stats

import lupi
from lupi.data.limits import Limit
from lupi.data.normalisation import Normalisation
from lupi.data.original_units import LimitedMixture, in_original_units
from lupi.distributions import NormalMixture
from lupi.errors import UserError

LIMITS = {
    "positive": Limit(lower=0.0),
    "at most": Limit(upper=3.0),
    "share": Limit(lower=0.0, upper=1.0),
    "count": Limit(lower=0.0, room=0.5),
}


@pytest.fixture(params=LIMITS)
def limit(request):
    return LIMITS[request.param]


def test_values_come_back(limit):
    values = np.array([1e-3, 0.2, 0.7, 0.999])
    np.testing.assert_allclose(limit.within(limit.without(values)), values, rtol=1e-9)


def test_the_slope_is_the_derivative(limit):
    values, step = np.array([0.1, 0.4, 0.9]), 1e-6
    numerical = (limit.without(values + step) - limit.without(values - step)) / (2 * step)
    np.testing.assert_allclose(np.exp(limit.log_slope(values)), numerical, rtol=1e-6)


def test_nothing_comes_out_beyond_a_limit(limit):
    values = limit.within(np.array([-1e6, -30.0, 0.0, 30.0, 1e6]))
    assert np.isfinite(values).all()
    assert not limit.broken(values).any()


def test_values_at_a_limit_have_room():
    counts = np.array([0.0, 2.0, 5.0, np.nan])
    suited = Limit(lower=0.0).suited_to(counts)
    assert suited.room == 1.0
    numbers = suited.without(counts[:3])
    np.testing.assert_allclose(numbers, np.log([1.0, 3.0, 6.0]))
    assert Limit(lower=0.0).suited_to(np.array([1.0, 2.0])).room == 0.0


def test_without_room_a_value_at_a_limit_is_told():
    counts = np.array([0.0, 2.0, np.nan])
    assert Limit(lower=0.0).touched(counts).tolist() == [True, False, False]
    assert not Limit(lower=0.0, room=0.5).touched(counts).any()


def normalisation(limit: Limit | None, mean=0.3, scale=0.5) -> Normalisation:
    return Normalisation(
        time_start=0.0,
        time_scale=1.0,
        own_clock=False,
        observed_mean=(mean,),
        observed_scale=(scale,),
        privileged_mean=(),
        privileged_scale=(),
        limits=() if limit is None else (limit,),
    )


@pytest.fixture
def lognormal():
    """One Normal of mean 0.5 and scale 0.8 in the model's units, of a positive quantity."""
    mixture = NormalMixture(np.full((1, 1, 1), 0.5), np.full((1, 1, 1), 0.8))
    return in_original_units(mixture, normalisation(Limit(lower=0.0)))


MU, SIGMA = 0.3 + 0.5 * 0.5, 0.5 * 0.8
TRUTH = stats.lognorm(SIGMA, scale=np.exp(MU))


def test_mean_and_std_of_a_positive_quantity_are_those_of_its_central_part(lognormal):
    central = TRUTH.expect(lb=TRUTH.ppf(0.05), ub=TRUTH.ppf(0.95), conditional=True)
    assert lognormal.mean.item() == pytest.approx(central, rel=1e-3)
    sigma = (TRUTH.ppf(stats.norm.cdf(1)) - TRUTH.ppf(stats.norm.cdf(-1))) / 2
    assert lognormal.std.item() == pytest.approx(sigma, rel=1e-3)


def test_the_mean_of_two_humps_is_that_of_their_central_part():
    low, high, scale = -2.0, 3.0, 0.1
    means = np.array([low] * 6 + [high] * 4).reshape(10, 1, 1)
    mixture = NormalMixture(means, np.full_like(means, scale))
    found = in_original_units(mixture, normalisation(Limit(lower=0.0))).mean.item()

    # All but the lowest twelfth of the lower hump, and all but the highest eighth of the other.
    lower = stats.lognorm(0.5 * scale, scale=np.exp(0.3 + 0.5 * low))
    upper = stats.lognorm(0.5 * scale, scale=np.exp(0.3 + 0.5 * high))
    parts = lower.expect(lb=lower.ppf(1 / 12)) * 0.6 + upper.expect(ub=upper.ppf(7 / 8)) * 0.4
    assert found == pytest.approx(parts / 0.9, rel=5e-3)


@pytest.mark.parametrize("place", [-40.0, 0.5, 20.0])
def test_the_mean_of_what_has_no_width_is_where_it_is(place):
    for scale in (1e-3, 1e-9):
        mixture = NormalMixture(*(np.full((4, 1, 1), x, np.float32) for x in (place, scale)))
        found = in_original_units(mixture, normalisation(Limit(lower=0.0))).mean.item()
        assert found == pytest.approx(np.exp(0.3 + 0.5 * place), rel=1e-4)


def test_the_spread_is_that_of_the_components_medians(lognormal):
    assert lognormal.spread.scale.item() == 0.0
    means = np.array([0.0, 1.0, 3.0]).reshape(3, 1, 1)
    mixture = NormalMixture(means, np.full_like(means, 0.1))
    found = in_original_units(mixture, normalisation(Limit(lower=0.0))).spread
    medians = np.exp(0.3 + 0.5 * means.ravel())
    assert found.scale.item() == pytest.approx(medians.std(ddof=1), rel=1e-6)


def test_quantiles_probabilities_and_densities_are_those_of_the_lognormal(lognormal):
    levels = [0.05, 0.5, 0.95]
    np.testing.assert_allclose(lognormal.quantile(levels).ravel(), TRUTH.ppf(levels), rtol=1e-4)
    for value in (0.5, 1.7, 4.0):
        cell = np.full((1, 1), value)
        assert lognormal.probability_below(cell).item() == pytest.approx(TRUTH.cdf(value), abs=1e-5)
        assert lognormal.log_density(cell).item() == pytest.approx(TRUTH.logpdf(value), abs=1e-4)
        densities = lognormal.component_log_densities(cell)
        assert densities.item() == pytest.approx(TRUTH.logpdf(value), abs=1e-4)


@pytest.mark.parametrize("value", [0.5, 1.7, 4.0])
def test_the_crps_is_that_of_the_lognormal(lognormal, value):
    expected = scoringrules.crps_lognormal(value, MU, SIGMA)
    assert lognormal.crps(np.full((1, 1), value)).item() == pytest.approx(expected, rel=0.01)


def test_without_limits_it_is_a_mixture_of_normals():
    mixture = NormalMixture(np.full((2, 1, 1), 0.5), np.full((2, 1, 1), 0.8))
    found = in_original_units(mixture, normalisation(None))
    assert not isinstance(found, LimitedMixture)
    assert found.mean.item() == pytest.approx(0.3 + 0.5 * 0.5)
    assert found.std.item() == pytest.approx(0.5 * 0.8)


TABLE = {"t": [0, 1, 2, 3], "x": [0.0, 2.0, 4.0, -1.0], "p": [0.1, 0.5, 0.9, 1.2]}


def test_values_beyond_a_limit_are_pointed_out():
    _, problems = lupi.check_series(
        TABLE, time="t", observed=["x", "p"], positive="x", limits={"p": (0, 1)}
    )
    messages = [str(problem) for problem in problems]
    assert any("'x'" in m and "row 4" in m and "at least 0" in m for m in messages)
    assert any("'p'" in m and "row 4" in m and "from 0 to 1" in m for m in messages)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"positive": "y"}, "none of the observed"),
        ({"limits": {"x": (1, 0)}}, "the lower first"),
        ({"limits": {"x": 3}}, "the lower first"),
        ({"limits": {"x": (None, None)}}, "the lower first"),
    ],
)
def test_limits_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(UserError, match=message):
        lupi.read_series(TABLE, time="t", observed="x", **arguments)
