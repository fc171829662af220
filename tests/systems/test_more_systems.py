"""Systems that users know, against what physics, epidemiology and pharmacology say of them."""

from functools import cache

import jax
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipk

from lupi.experiments import MORE_EXPERIMENTS, Simulation, get_experiment
from lupi.systems import Epidemic, LineAndSine, Pendulum, TwoCompartments, simulate


@cache
def family(name: str):
    source = get_experiment(name).source
    assert isinstance(source, Simulation)
    times = np.linspace(0.0, source.horizon, 41)
    return simulate(source.system, times, 200, key=jax.random.key(0))


def observe(system, times):
    return simulate(system, np.asarray(times, float), 1, key=jax.random.key(0)).observed[0]


@pytest.mark.parametrize("name", MORE_EXPERIMENTS)
def test_members_differ_and_are_of_order_one(name):
    found = family(name)
    experiment = MORE_EXPERIMENTS[name]
    assert found.observed.shape[-1] == len(experiment.quantities)
    assert 0.1 < found.observed.std() < 2
    assert found.observed.std(axis=0).max() > 0.1
    assert (found.privileged.std(axis=0) > 0.02).all()


def test_a_pendulum_without_drag_has_the_period_of_an_elliptic_integral():
    period = 4 * np.sqrt(1.3 / 9.81) * ellipk(np.sin(3.0 / 2) ** 2)
    found = observe(Pendulum(length=1.3, angle=3.0, drag=0.0), [period / 4, period / 2, period])
    np.testing.assert_allclose(found[:, 0], [0.0, -3.0, 3.0], atol=1e-6)


def test_small_swings_of_a_pendulum_are_those_of_a_damped_oscillator():
    times = np.linspace(0, 5, 21)
    found = observe(Pendulum(length=1.0, angle=1e-3, drag=0.4), times)[:, 0]
    omega = np.sqrt(9.81 - 0.04)
    expected = np.exp(-0.2 * times) * (np.cos(omega * times) + 0.2 / omega * np.sin(omega * times))
    np.testing.assert_allclose(found / 1e-3, expected, atol=1e-5)


@pytest.fixture(scope="module")
def epidemic():
    """Infected and recovered for 40 days, and in the end."""
    system = Epidemic(contact_rate=0.7, recovery_rate=0.2, initially_infected=0.02)
    return observe(system, [*np.linspace(0, 40, 21), 300.0]).T


def test_nobody_is_lost_in_an_epidemic(epidemic):
    infected, recovered = epidemic
    susceptible = 0.98 * np.exp(-0.7 / 0.2 * recovered)  # since dS/dR = -S beta / gamma
    np.testing.assert_allclose(susceptible + infected + recovered, 1.0, atol=1e-8)


def test_an_epidemic_ends_at_its_final_size(epidemic):
    left = brentq(lambda s: np.log(s / 0.98) + 0.7 / 0.2 * (1 - s), 1e-9, 0.5)
    np.testing.assert_allclose(epidemic[:, -1], [0.0, 1 - left], atol=1e-8)


@pytest.fixture(scope="module")
def drug():
    """Times and concentrations, until nothing is left."""
    times = np.linspace(0, 300, 6001)
    system = TwoCompartments(clearance=1.4, volume=6.0, exchange=2.0, tissue_volume=9.0, dose=10.0)
    return times, observe(system, times)[:, 0]


def test_a_drug_is_the_sum_of_two_exponentials(drug):
    times, found = drug
    out, there, back = 1.4 / 6, 2 / 6, 2 / 9
    total, product = out + there + back, out * back
    root = np.sqrt(total**2 - 4 * product)
    fast, slow = (total + root) / 2, (total - root) / 2
    parts = (fast - back) * np.exp(-fast * times) + (back - slow) * np.exp(-slow * times)
    np.testing.assert_allclose(found, 10 / 6 * parts / (fast - slow), atol=1e-8)


def test_all_of_a_dose_is_cleared_in_the_end(drug):
    """The area under the concentration is dose over clearance, whatever the volumes are."""
    times, found = drug
    assert np.trapezoid(found, times) == pytest.approx(10.0 / 1.4, rel=1e-4)


def test_a_line_and_a_sine_are_what_their_name_says():
    times = np.linspace(0, 4, 21)
    x = times - 2
    found = observe(LineAndSine(a=-0.7, b=5.5, c=0.3), times)[:, 0]
    np.testing.assert_allclose(found, -0.7 * x + np.sin(5.5 * x) + 0.3, atol=1e-8)


def test_noise_of_a_fifth_is_so_much_of_what_lines_and_sines_differ_by():
    assert 0.18 * family("line-and-sine").observed.std() == pytest.approx(0.2, rel=0.1)
