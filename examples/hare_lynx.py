# %% [markdown]
# # Hares and lynxes, 1900 to 1920
#
# From records of pelts traded by the Hudson's Bay Company in Canada, as thousands of animals; the
# yearly numbers are those tabulated by Hewitt (*The Conservation of the Wild Life of Canada*, 1921)
# and used ever since to teach predator-prey dynamics.
#
# There is one record, and nobody knows the animals' rates of birth and death. But we can simulate
# as many predator-prey systems as we like, with all kinds of rates, and there the rates are known:
# they are the privileged information. A forecaster that has learnt from the simulated systems then
# sees the first eleven years of the real record and forecasts the other ten.
#
# Run it as a script, or open it as a notebook (`# %%` marks). It takes a few minutes; with
# `LUPI_EXAMPLE_SMALL=1` under one, and learns next to nothing.

# %%
import os
from pathlib import Path

import jax
import numpy as np
import pandas as pd
from numpyro.distributions import LogNormal

import lupi

SMALL = os.environ.get("LUPI_EXAMPLE_SMALL") == "1"
NUM_SYSTEMS = 24 if SMALL else 1000
OUT = Path(os.environ.get("LUPI_EXAMPLE_OUT", "hare-lynx-example"))
OUT.mkdir(parents=True, exist_ok=True)

RECORD = pd.DataFrame(
    {
        "year": np.arange(1900, 1921) - 1900.0,
        "hares": [
            *(30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1),
            *(40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7),
        ],
        "lynxes": [
            *(4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4),
            *(8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6),
        ],
    }
)

# %% [markdown]
# ## Systems that might have made such a record
#
# Rates that give cycles of about ten years, each spread over a factor of about two; populations in
# thousands. Counting pelts is far from exact: every observation gets a relative error of a quarter.
# We work with logarithms of populations, where that error is additive and no forecast is negative.

# %%
systems = lupi.LotkaVolterra(
    u0=LogNormal(np.log(30.0), 0.5),
    v0=LogNormal(np.log(6.0), 0.5),
    alpha=LogNormal(np.log(0.55), 0.2),
    beta=LogNormal(np.log(0.028), 0.25),
    gamma=LogNormal(np.log(0.8), 0.2),
    delta=LogNormal(np.log(0.025), 0.25),
    privileged=("alpha", "beta", "gamma", "delta"),
)
years = np.arange(21.0)
trajectories = lupi.simulate(systems, years, NUM_SYSTEMS, key=jax.random.key(0))
noise = np.random.default_rng(0).normal(0.0, 0.25, trajectories.observed.shape)
logarithms = np.log(np.maximum(trajectories.observed, 0.1)) + noise
runs = pd.DataFrame(
    {
        "system": np.repeat(np.arange(NUM_SYSTEMS), years.size),
        "year": np.tile(years, NUM_SYSTEMS),
        "hares": logarithms[..., 0].ravel(),
        "lynxes": logarithms[..., 1].ravel(),
    }
)
for i, name in enumerate(systems.privileged):
    runs[name] = np.repeat(trajectories.privileged[:, i], years.size)

# %% [markdown]
# ## Learning

# %%
series = lupi.read_series(
    runs,
    series="system",
    time="year",
    observed=["hares", "lynxes"],
    privileged=systems.privileged,
)
forecaster = lupi.Forecaster(
    train={"epochs": 2 if SMALL else None}, inference="amortised" if SMALL else "refined"
).fit(series, seed=0)
forecaster.save(OUT / "hare-lynx.lupi")
print({name: round(value, 2) for name, value in forecaster.provenance["validation"].items()})

# %% [markdown]
# ## The real record
#
# Eleven years are shown; the forecast for the other ten is compared with what came.

# %%
record = RECORD.assign(hares=np.log(RECORD["hares"]), lynxes=np.log(RECORD["lynxes"]))
seen, future = record[record["year"] <= 10], record[record["year"] > 10]
forecast = forecaster.predict(seen, future["year"].to_numpy(), num_samples=256)
lower, upper = forecast.interval(coverage=0.9)
truth = future[["hares", "lynxes"]].to_numpy()
inside = (lower <= truth) & (truth <= upper)
print(f"inside the 90 % interval: {inside.sum()} of {inside.size} values")
error = np.abs(forecast.mean - truth).mean()
print(f"typical factor between forecast and record: {np.exp(error):.2f}")

# %%
import matplotlib.pyplot as plt

grid = np.linspace(0, 20, 201)
curve = forecaster.predict(seen, grid, num_samples=256)
low, high = (np.exp(end) for end in curve.interval(coverage=0.9))
figure, panels = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
for i, (panel, name) in enumerate(zip(panels, ("hares", "lynxes"), strict=True)):
    panel.fill_between(1900 + grid, low[:, i], high[:, i], alpha=0.25, lw=0, label="90% interval")
    panel.plot(1900 + grid, np.exp(curve.quantile(0.5)[:, i]), label="median")
    past, later = RECORD[RECORD["year"] <= 10], RECORD[RECORD["year"] > 10]
    panel.plot(1900 + past["year"], past[name], "ko", ms=4, label="shown")
    panel.plot(1900 + later["year"], later[name], "x", color="#cc3311", label="came")
    panel.set(title=name, xlabel="year", ylabel="pelts, thousands", ylim=(0, 130))
    panel.xaxis.set_major_locator(plt.MultipleLocator(5))
panels[1].legend(frameon=False, loc="upper left")
figure.savefig(OUT / "hare-lynx.png", dpi=150)
print(f"figure: {OUT / 'hare-lynx.png'}")
