"""The limit of what can be forecast: an observer who knows the equations, the priors, the noise."""

from lupi.ideal.observer import IdealObserver, Posterior

__all__ = ["IdealObserver", "Posterior"]
