# %% [markdown]
# # Springs of unknown stiffness
#
# This script walks through one experiment of *Meta-learning using privileged information for
# dynamics* (Day, Norcliffe, Moss and Liò, 2021), one step at a time.
#
# We watch a mechanical system a few times and want to know its whole motion, with honest
# uncertainty. For the systems that we learn from, somebody also measured the stiffness of the
# springs. For the systems that we will meet later, nobody will. The question is whether the
# stiffness can still make us better at it.
#
# Run it as a script, or open it as a notebook: editors that know the `# %%` marks do so, and
# `jupytext` converts it. It takes a few minutes. With the environment variable
# `LUPI_EXAMPLE_SMALL=1` it takes about one, most of it compiling, and learns next to nothing.

# %%
import os
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from matplotlib import cm, colormaps
from matplotlib.colors import Normalize

import lupi
from lupi import metrics
from lupi.distributions import kl_divergence
from lupi.evaluation import draw_contexts, score
from lupi.models import Sample
from lupi.prediction import predict_many

SMALL = os.environ.get("LUPI_EXAMPLE_SMALL") == "1"
EPOCHS = 2 if SMALL else 100
NUM_TRAINING = 16 if SMALL else 400
NUM_VALIDATION = 4 if SMALL else 100
NUM_TEST = 10 if SMALL else 100
HORIZON = 10.0
OUT = Path(os.environ.get("LUPI_EXAMPLE_OUT", "stiffness-example"))

COLOURS = {"NoPI": "#c8553d", "LUPI": "#1f6f8b"}
STYLE = {
    "figure.constrained_layout.use": True,
    "figure.dpi": 120,
    "savefig.dpi": 150,
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


def keep(figure, name):
    """Save a figure; in a notebook also show it."""
    figure.savefig(OUT / f"{name}.png")
    if plt.isinteractive():
        plt.show()
    plt.close(figure)


OUT.mkdir(parents=True, exist_ok=True)
plt.rcParams.update(STYLE)

# JAX has no hidden random state: every draw below has a key of its own.
keys = iter(jax.random.split(jax.random.key(0), 20))

# %% [markdown]
# ## The system
#
# Two masses stand in a row between two walls, joined by three equal springs of stiffness $k$ and
# slowed by a drag $c$:
#
# $$m_1 \ddot x_1 = (x_2 - 2 x_1) k - c \dot x_1, \quad
#   m_2 \ddot x_2 = (x_1 - 2 x_2) k - c \dot x_2$$
#
# Both masses are pulled apart by the same distance and let go. All systems agree in everything but
# the stiffness. A field that holds a distribution makes a *family* of systems; `privileged` names
# what is known in training only.

# %%
family = lupi.DampedOscillators(k=lupi.Uniform(0.2, 1.0), c=1.0, privileged=("k",))

# %% [markdown]
# Let us look at the family. Stiffer springs swing faster. Notice where the curves differ: early.
# After 8 units of time the drag has all but stopped them, and an observation made there says little
# about the stiffness. The second mass mirrors the first, so later figures show the first alone; the
# models see both and are not told.

# %%
times = np.linspace(0.0, HORIZON, 101)
trajectories = lupi.simulate(family, times, 40, key=next(keys))
stiffness = trajectories.privileged[:, 0]

figure, axes = plt.subplots(1, 2, figsize=(7.5, 2.8), sharey=True)
scale = cm.ScalarMappable(Normalize(0.2, 1.0), colormaps["viridis"])
for observed, k in zip(trajectories.observed, stiffness, strict=True):
    for quantity, axis in enumerate(axes):
        axis.plot(times, observed[:, quantity], color=scale.to_rgba(k), linewidth=0.8)
for axis, name in zip(axes, family.observed, strict=True):
    axis.set(title=f"position {name}", xlabel="time")
figure.colorbar(scale, ax=axes, label="stiffness k", pad=0.02)
keep(figure, "family")

# %% [markdown]
# ## Tasks
#
# One system to learn from is a `Task`: its observations and its privileged information. Many tasks
# are one `Task` whose arrays have a leading axis. The model sees time in units of the horizon, so
# that it runs from 0 to 1.

# %%
training_times = np.linspace(0.0, HORIZON, 51)
test_times = np.linspace(0.0, HORIZON, 100)


def make_tasks(times, num_tasks):
    return lupi.generate_tasks(family, times, num_tasks, time_unit=HORIZON, key=next(keys))


tasks = make_tasks(training_times, NUM_TRAINING + NUM_VALIDATION)
training, validation = tasks[:NUM_TRAINING], tasks[NUM_TRAINING:]
test = make_tasks(test_times, NUM_TEST)

print("times      ", training.observations.ts.shape)
print("positions  ", training.observations.ys.shape)
print("privileged ", training.privileged.shape)

# %% [markdown]
# ## Context and target
#
# In training we play the game that will be played later. From each system we draw a small
# **context**, which stands for what will be seen, and a larger **target** around it, which must be
# predicted. Both are masks over the same arrays, so their sizes may change from step to step.

# %%
settings = lupi.TrainingSettings(epochs=EPOCHS)
example = training[0]
split = lupi.split_randomly(
    example.observations,
    context_sizes=settings.context_sizes,
    target_sizes=settings.target_sizes,
    key=next(keys),
)
print(f"context: {int(split.context.mask.sum())} points of {settings.context_sizes}")
print(f"target:  {int(split.target.mask.sum())} points of {settings.target_sizes}")

figure, axis = plt.subplots(figsize=(5.5, 2.6))
for points, size, colour, label in (
    (example.observations, 2, "0.75", "not used in this step"),
    (split.target, 4, "#e0a030", "target"),
    (split.context, 6, "black", "context, also a target"),
):
    real_times = np.asarray(points.ts)[points.mask] * HORIZON
    real_values = np.asarray(points.ys)[points.mask]
    axis.plot(real_times, real_values[:, 0], "o", markersize=size, color=colour, label=label)
axis.set(title="one step of training", xlabel="time", ylabel="x1")
axis.legend(loc="upper right")
keep(figure, "split")

# %% [markdown]
# ## Two models, the same at test time
#
# A process encodes observations, each on its own, aggregates them, and finds in the aggregate a
# distribution of a global latent $z$: this is the *code* of the observations. It decodes a sample
# of $z$ into a trajectory through a latent ODE.
#
# LUPI has a privileged part besides: an encoder of the privileged information, and a network that
# adds a correction made of it to the aggregate. It is used in training only. NoPI is the same
# process without it, and so is LUPI once it is taken off. With the same key both start from the
# same weights in all they share.

# %%
process_settings = lupi.NeuralODEProcessSettings()
weights_key = next(keys)
fresh = {
    name: lupi.build_process(
        process_settings, observation_size=2, privileged_size=privileged_size, key=weights_key
    )
    for name, privileged_size in {"NoPI": 0, "LUPI": 1}.items()
}

print(f"NoPI:              {lupi.num_parameters(fresh['NoPI']):,} parameters")
print(f"LUPI in training:  {lupi.num_parameters(fresh['LUPI']):,} parameters")
print(f"LUPI at test time: {lupi.num_parameters(fresh['LUPI'].without_privileged()):,} parameters")

# %% [markdown]
# ## The objective
#
# Equation 1 of the paper bounds the log-likelihood of the target from below by two terms:
#
# $$E_{q(z|T,\pi)}\Big[\sum_{i \in T} \log p(y_i | z, t_i)\Big]
#   - KL\big(q(z | T, \pi) \,\|\, q'(z | C)\big)$$
#
# The first asks that $z$, inferred from *all* that is known in training (target $T$ and privileged
# information $\pi$), explains the target. The second asks that the same $z$ can be guessed from the
# context $C$ alone. It is the second through which the privileged information teaches: it shapes
# what the context is asked to infer.
#
# Here is the objective of one task by hand, and as the library computes it.

# %%
objective_key = next(keys)
process = fresh["LUPI"]

posterior = process.encode(split.target, example.privileged).latent
prior = process.encode(split.context).latent
decoded = process.decode(Sample(posterior.sample(objective_key)), split.target.ts)
log_likelihood = jnp.sum(decoded.log_prob(split.target.ys)[split.target.mask])
kl = jnp.sum(kl_divergence(posterior, prior))

loss, terms = lupi.Elbo()(process, split, example.privileged, key=objective_key)
print(f"log-likelihood: {log_likelihood:8.3f} by hand, {terms['log_likelihood']:8.3f} by Elbo")
print(f"KL divergence:  {kl:8.3f} by hand, {terms['kl']:8.3f} by Elbo")
print(f"loss:           {kl - log_likelihood:8.3f} by hand, {loss:8.3f} by Elbo")

# %% [markdown]
# ## Training
#
# Adam, one system per step, every epoch once through all systems. Both models get the same key, so
# they see the same systems in the same order with the same contexts: what differs afterwards is the
# privileged information.

# %%
fit_key = next(keys)


def show_progress(row):
    epoch = int(row["epoch"])
    if epoch % 10 == 0 or epoch == EPOCHS:
        print(
            f"  epoch {epoch:3d}: log-likelihood {row['validation_log_likelihood']:6.2f}, "
            f"KL {row['validation_kl']:6.2f} (validation)"
        )


trained, histories = {}, {}
for name, process in fresh.items():
    print(name)
    trained[name], histories[name] = lupi.fit(
        process, training, validation, settings=settings, on_epoch=show_progress, key=fit_key
    )

figure, axes = plt.subplots(1, 2, figsize=(7.5, 2.8))
for axis, term, title in zip(
    axes, ("log_likelihood", "kl"), ("log-likelihood of the target", "KL divergence"), strict=True
):
    for name, history in histories.items():
        epochs = [row["epoch"] for row in history]
        values = [row[f"validation_{term}"] for row in history]
        axis.plot(epochs, values, color=COLOURS[name], linewidth=1.2, label=name)
    axis.set(title=f"{title} (validation)", xlabel="epoch")
    axis.xaxis.get_major_locator().set_params(integer=True)
# The first epochs lie far below and would flatten the rest.
late = [row["validation_log_likelihood"] for h in histories.values() for row in h[EPOCHS // 10 :]]
axes[0].set_ylim(min(late) - 1, max(late) + 1)
axes[1].set_ylim(bottom=0)
axes[0].legend(loc="lower right")
keep(figure, "training")

# %% [markdown]
# ## Predicting a new system
#
# Here is a system that neither model has met, seen at seven moments. Look at the arguments of
# `predict`: a process, a context, times and a key. There is no place for the stiffness.
#
# For each of 32 samples of $z$ the process decodes one Normal per time. As in the paper, the bands
# show the mean and the standard deviation of the decoded *means*, the prediction's `spread`. Its
# `std` is wider: it also holds the decoder's own scale, which never falls below 0.1.

# %%
test_ts = test.observations.ts[0]
new_system = test[0]
context = lupi.draw_context(new_system.observations, sizes=(7, 7), key=next(keys))
prediction_key = next(keys)
predictions = {
    name: lupi.predict(process, context, test_ts, key=prediction_key)
    for name, process in trained.items()
}


def draw_prediction(axis, prediction, system, context, colour):
    """The first position: mean and bands beside the truth. Dots are what the model was shown."""
    mean = prediction.mean[:, 0]
    std = prediction.spread.scale[:, 0]
    truth = system.observations.ys[:, 0]
    seen = np.asarray(context.mask)
    for width, alpha in ((2, 0.2), (1, 0.3)):
        low, high = mean - width * std, mean + width * std
        label = f"±{width} std"
        axis.fill_between(
            test_times, low, high, color=colour, alpha=alpha, linewidth=0, label=label
        )
    axis.plot(test_times, mean, color=colour, linewidth=1.4, label="prediction")
    axis.plot(test_times, truth, "--", color="black", linewidth=1.1, label="truth")
    axis.plot(test_times[seen], truth[seen], "o", color="black", markersize=4, label="context")


figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True)
for axis, (name, prediction) in zip(axes, predictions.items(), strict=True):
    draw_prediction(axis, prediction, new_system, context, COLOURS[name])
    axis.set(title=f"{name}, from {int(context.mask.sum())} points", xlabel="time")
    axis.legend(loc="upper right")
axes[0].set_ylabel("x1")
keep(figure, "prediction")

# %% [markdown]
# ## Watching it tighten
#
# Observations arrive one after another, and each context holds the one before it. The more a model
# has seen, the closer its samples of $z$ agree. (In training a context had 5 to 9 points: 2 and 4
# are fewer than the models have practised on.) A prediction need not go through the points it was
# given: they reach it only as far as $z$ remembers them.

# %%
# For each test system, the place of each of its points in the queue.
arrival = np.random.default_rng(0).permuted(
    np.broadcast_to(np.arange(test_ts.size), (NUM_TEST, test_ts.size)), axis=1
)

figure, axes = plt.subplots(2, 3, figsize=(9, 4.6), sharex=True, sharey=True)
for row, (name, process) in zip(axes, trained.items(), strict=True):
    for axis, num_points in zip(row, (2, 4, 9), strict=True):
        seen = new_system.observations.only(arrival[0] < num_points)
        prediction = lupi.predict(process, seen, test_ts, key=prediction_key)
        draw_prediction(axis, prediction, new_system, seen, COLOURS[name])
        axis.set_title(f"{name}, {num_points} points")
    row[0].set_ylabel("x1")
for axis in axes[1]:
    axis.set_xlabel("time")
axes[0, 2].legend(loc="upper right", fontsize=8)
keep(figure, "tightening")

# %% [markdown]
# Is that so for other systems, too? `predict` takes one system, `predict_many` any number of them,
# each with its own context, times and key; its arrays have a leading axis over systems.

# %%
sample_keys = jax.random.split(next(keys), NUM_TEST)


def predict_test_systems(process, contexts):
    return predict_many(process, contexts, test.observations.ts, num_samples=32, keys=sample_keys)


print("mean standard deviation over the test systems")
for name, process in trained.items():
    for num_points in (2, 4, 9):
        seen = test.observations.only(arrival < num_points)
        width = predict_test_systems(process, seen).spread.scale.mean()
        print(f"  {name}, {num_points} points: {width:.4f}")

# %% [markdown]
# ## How good is it?
#
# For each of the test systems we draw a context of 5 to 9 points and predict the whole series.
#
# - The **mean squared error** is that of the predicted mean. Its floor is the mean training
#   trajectory: the score of a model that cannot tell systems apart.
# - The **calibration error** compares how often things happen with how often they were said to.
#   It starts from the predicted CDF at what was observed (the PIT).
# - **Sharpness** is the mean predicted standard deviation. It counts between models that are
#   calibrated alike.
#
# `score` has these and more, each as a mean over systems with its standard error. The last two are
# the paper's, of the spread of the decoded means; `calibration_error` and `std` are those of the
# full predictive distribution.

# %%
contexts = draw_contexts(test.observations, settings.context_sizes, key=next(keys))
truth = test.observations.ys
known = np.ones(truth.shape, bool)
# Between the times of the training grid it goes in straight lines.
floor = predict_test_systems(lupi.MeanTrajectory.of(training), contexts)
predictions_of_all = {
    name: predict_test_systems(process, contexts) for name, process in trained.items()
}

shown = {
    "mse": "mean squared error",
    "spread_calibration_error": "calibration error",
    "spread_std": "sharpness",
}
print("      " + "".join(f"{title:>22}" for title in shown.values()))
error = metrics.estimate(metrics.squared_error(floor, truth, known).mean(axis=-1))
print(f"floor {error.mean:12.5f} ± {error.stderr:.5f}")
for name, prediction in predictions_of_all.items():
    scores = score(prediction, truth).overall()
    values = [scores[metric] for metric in shown]
    print(f"{name:6}" + "".join(f"{value.mean:12.5f} ± {value.stderr:.5f}" for value in values))

# %% [markdown]
# The calibration curve shows in which way a model is wrong. On the diagonal, what is said to lie
# below a level with probability $p$ does so in a share $p$ of the cases. A curve that is flat in
# the middle and steep at both ends belongs to a model that is too sure of itself.

# %%
figure, axis = plt.subplots(figsize=(3.8, 3.6))
axis.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, label="perfect")
for name, prediction in predictions_of_all.items():
    pit = metrics.spread_pit(prediction.spread, truth)
    curves = metrics.calibration_curve(pit, known)
    share = curves.over(1).over(0).share  # of all points of all systems
    levels = np.arange(1, share.size + 1) / share.size
    axis.plot(levels, share, color=COLOURS[name], label=name)
axis.set(xlabel="predicted probability", ylabel="observed frequency", xlim=(0, 1), ylim=(0, 1))
axis.set_aspect("equal")
axis.legend(loc="upper left")
keep(figure, "calibration")

# %% [markdown]
# Do not read too much into one training run per model: another seed gives other numbers, and may
# well turn the order of the two around. `lupi reproduce` trains several seeds, paired, and says
# which differences hold.
#
# ## Keeping the model
#
# A model file is data: the weights, and the settings that say what they are the weights of.

# %%
path = OUT / "lupi.safetensors"
lupi.save_process(path, trained["LUPI"], process_settings)
loaded = lupi.load_process(path)

again = lupi.predict(loaded, context, test_ts, key=prediction_key)
print(f"saved to {path}, {path.stat().st_size:,} bytes")
print("the loaded model predicts the same:", bool((again.mean == predictions["LUPI"].mean).all()))

# %% [markdown]
# From here: another system of your own in `docs/new-system.md`, the paper's letters and our names
# in `docs/notation.md`, and the whole of Table 1 with `lupi reproduce`.
