"""Several networks as one predictor."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from lupi.data.inputs import Inputs
from lupi.data.normalisation import Normalisation
from lupi.data.observations import Observations
from lupi.distributions import AnyArray, Normal
from lupi.models import AbstractPredictor, Findings, Prediction


class Units(eqx.Module):
    """How the numbers of one normalisation become those of another."""

    time: Float[AnyArray, " 2"]
    """What to add, and then to multiply by."""
    observed: Float[AnyArray, "2 observation"]
    privileged: Float[AnyArray, "2 privileged"]
    known: Float[AnyArray, "2 known"]

    @classmethod
    def between(cls, outer: Normalisation, inner: Normalisation) -> "Units":
        """From the outer ones to the inner ones."""

        def affine(names: tuple[str, str]):
            shift, scale = (np.array(getattr(outer, name), float) for name in names)
            inner_shift, inner_scale = (np.array(getattr(inner, name), float) for name in names)
            return np.array([(shift - inner_shift) / scale, scale / inner_scale], np.float32)

        return cls(
            affine(("time_start", "time_scale")),
            affine(("observed_mean", "observed_scale")),
            affine(("privileged_mean", "privileged_scale")),
            affine(("known_mean", "known_scale")),
        )


class InUnits(AbstractPredictor):
    """A predictor that has units of its own, as one in those of others."""

    predictor: AbstractPredictor
    units: Units

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return self.predictor.observation_size

    def predict(
        self,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        privileged: Float[AnyArray, " privileged"] | None = None,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Prediction:
        """Predict in its units, and say so in the others."""
        units = self.units
        shift, scale = units.observed
        inner = Observations(
            self._times(context.ts),
            (context.ys + shift) * scale,
            context.mask,
            context.gaps,
            self._inputs(context.inputs),
        )
        how: dict[str, Any] = {"num_samples": num_samples, "horizon": horizon, "key": key}
        if privileged is not None:
            how["privileged"] = (privileged + units.privileged[0]) * units.privileged[1]
        found = self.predictor.predict(inner, self._times(times), **how)
        return Prediction(
            jnp.asarray(times),
            found.means / scale - shift,
            found.scales / scale,
            found.key,
            self._findings(found.findings),
        )

    def _times(self, times):
        shift, scale = self.units.time
        return jnp.maximum((jnp.asarray(times) + shift) * scale, 0.0)

    def _inputs(self, inputs: Inputs | None) -> Inputs | None:
        if inputs is None:
            return None
        (to_time, of_time), (shift, scale) = self.units.time, self.units.known
        return Inputs((inputs.ts + to_time) * of_time, (inputs.values + shift) * scale)

    def _findings(self, findings: Findings | None) -> Findings | None:
        if findings is None or findings.privileged is None:
            return findings
        shift, scale = self.units.privileged
        value = findings.privileged
        return eqx.tree_at(
            lambda findings: findings.privileged,
            findings,
            Normal(value.loc / scale - shift, value.scale / scale),
        )


class Ensemble(AbstractPredictor):
    """Predictors of one kind, each with as many of the samples as the others."""

    members: InUnits
    """Stacked: their arrays have a leading axis."""

    @classmethod
    def of(cls, members: Sequence[InUnits]) -> "Ensemble":
        """Of members whose arrays have the same shapes."""
        stacked = jax.tree.map(
            lambda *leaves: (
                np.stack([np.asarray(leaf) for leaf in leaves])
                if eqx.is_array(leaves[0])
                else leaves[0]
            ),
            *members,
        )
        return cls(members=stacked)  # pyright: ignore[reportCallIssue]

    @property
    def observation_size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How many quantities are observed."""
        return self.members.observation_size

    def predict(
        self,
        context: Observations,
        times: Float[AnyArray, " time"],
        *,
        privileged: Float[AnyArray, " privileged"] | None = None,
        num_samples: int,
        horizon: int,
        key: PRNGKeyArray,
    ) -> Prediction:
        """The predictions of all, one sample of each after the other."""
        arrays, structure = eqx.partition(self.members, eqx.is_array)
        number = len(jax.tree.leaves(arrays)[0])
        each = -(-num_samples // number)
        how: dict[str, Any] = {"num_samples": each, "horizon": horizon}
        if privileged is not None:
            how["privileged"] = privileged

        def one(some):
            arrays, key = some
            member = eqx.combine(arrays, structure)
            found = member.predict(context, times, key=key, **how)
            return found.means, found.scales, found.findings

        means, scales, findings = jax.lax.map(one, (arrays, jax.random.split(key, number)))

        def in_turns(leaf):
            turned = jnp.swapaxes(leaf, 0, 1)
            return turned.reshape(-1, *leaf.shape[2:])[:num_samples]

        if findings is not None:
            value, means_of = findings.privileged, lambda leaf: jnp.mean(leaf, axis=0)
            findings = Findings(
                None if value is None else jax.tree.map(in_turns, value),
                means_of(findings.log_evidence),
                means_of(findings.surprise),
                means_of(findings.effective_share),
            )
        return Prediction(jnp.asarray(times), in_turns(means), in_turns(scales), key, findings)
