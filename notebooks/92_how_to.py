# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Ten how-tos
#
# Each answers one question with a few lines of code. All of them use the simulated patients of
# [](90_your_data.ipynb), in which nobody exists. What every function takes and returns is in the
# [reference](../reference.md).
#
# **Run time.** Seconds.

# %% [markdown]
# The how-tos share the seed and the number of perturbed sets.

# %% tags=["parameters"]
n_sets = 100  # the paper: 100
seed = 0

# %% [markdown]
# Three columns of numbers and one of text; some values are missing. Half of the patients train.

# %%
import pvf
from pvf.select.example import make_cohort
from sklearn.model_selection import train_test_split

cohort = make_cohort(600, seed=seed)
numeric = ["age", "crp", "albumin"]
X, y = cohort[[*numeric, "ward"]], (cohort["died"] == "yes").astype(int)
X_train, X_val, y_train, y_val = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=seed
)
X.isna().mean().to_frame("share missing").style.format(precision=3).set_uuid(
    "how-to-missing"
)

# %% [markdown]
# ## Choose among pipelines with missing values
#
# A pipeline that fills gaps in takes the table as it is. Perturbations leave a missing value
# missing, so that nothing has to be dropped.

# %%
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

encode = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), numeric),
    (OneHotEncoder(handle_unknown="ignore"), ["ward"]),
)
pipelines = {
    f"C = {c:g}": make_pipeline(encode, LogisticRegression(C=c))
    for c in (0.001, 0.01, 0.1, 1.0)
}

# %% [markdown]
# Ten places for a hundred patients, filled by rank: the scorer says so.

# %%
noise = pvf.Perturbation(
    {
        "age": pvf.GaussianNoise(2.0),
        "crp": pvf.RelativeNoise(0.1),
        "albumin": pvf.GaussianNoise(1.0),
        "ward": pvf.NominalFlip(0.05),
    }
).fit(X_train)
by_rank = pvf.intervention_efficiency_scorer(0.1, by="rank")
fitted = {name: p.fit(X_train, y_train) for name, p in pipelines.items()}
result = pvf.perturbation_validation(
    fitted,
    X_val,
    y_val,
    perturbation=noise,
    scoring=by_rank,
    n_sets=n_sets,
    random_state=seed,
)
result.to_frame().style.format(precision=3).set_uuid("how-to-pipelines")

# %% [markdown]
# How much is that choice worth on other splits of the patients? `pvf.audit` repeats it.

# %%
audit = pvf.audit(
    pipelines,
    X,
    y,
    perturbation=noise,
    scoring=by_rank,
    n_splits=5,
    n_bootstraps=5,
    n_sets=20,
    random_state=seed,
)
audit.differences.style.format(precision=3).set_uuid("how-to-audit")

# %% [markdown]
# ## Nested cross-validation
#
# The inner search chooses by PVF; the outer folds, which the search never sees, say what the chosen
# model is worth without perturbation.

# %%
import pandas as pd
from sklearn.model_selection import GridSearchCV, cross_val_score

scorer = pvf.perturbation_scorer(by_rank, perturbation=noise, n_sets=5)
search = GridSearchCV(
    pipelines["C = 1"],
    {"logisticregression__C": [0.01, 0.1, 1.0]},
    scoring=scorer,
    cv=3,
    refit=pvf.refit_by(
        "one_standard_error", complexity="logisticregression__C"
    ),
)
outer = cross_val_score(search, X, y, scoring=by_rank, cv=3)
pd.DataFrame({"IE by rank": outer}).style.format(precision=2).set_uuid(
    "how-to-nested"
)

# %% [markdown]
# ## Noise from the error of an instrument
#
# A laboratory states its errors: a number in the column's unit, or a percentage. Bounds keep a
# concentration from becoming negative.

# %%
import numpy as np

stated = pvf.Perturbation.from_measurement_error(
    {"age": 0.5, "crp": "10%", "albumin": 1.5},
    bounds={"crp": (0, None), "albumin": (0, None)},
).fit(X_train)
copies = stated.sample(X_val, 20, np.random.default_rng(seed))
copies[numeric].min().to_frame("smallest perturbed value").style.format(
    precision=2
).set_uuid("how-to-instrument")

# %% [markdown]
# ## The top of a list with ties
#
# Coarse scores tie at the edge of the list. The tied patients share the places that are left, so
# that the result depends on no order of rows, unlike a threshold at the edge, by ≥ or by >.

# %%
model = fitted["C = 1"]
score = model.predict_proba(X_val)[:, 1].round(1)
edge = np.sort(score)[::-1][int(0.1 * len(score)) - 1]
efficiency = pvf.intervention_efficiency_score
ways = {
    "ties shared": efficiency(y_val, y_score=score, capacity=0.1),
    "by ≥": efficiency(y_val, score >= edge, capacity=0.1),
    "by >": efficiency(y_val, score > edge, capacity=0.1),
}
pd.Series(ways, name="IE").to_frame().style.format(precision=2).set_uuid(
    "how-to-ties"
)

# %% [markdown]
# ## Weights
#
# Where patients stand for different numbers of people, a weight says for how many. Weights reach
# the scorer with every perturbed set.

# %%
weight = np.where(X_val["age"] > 70, 2.0, 1.0)
weighted = pvf.perturbation_validation(
    fitted,
    X_val,
    y_val,
    perturbation=noise,
    scoring=by_rank,
    sample_weight=weight,
    n_sets=n_sets,
    random_state=seed,
)
weighted.to_frame()[["aggregated", "unperturbed"]].style.format(
    precision=3
).set_uuid("how-to-weights")

# %% [markdown]
# ## Fairness: who gets the places?
#
# All wards compete for the same places. The table says who is on the list and what it reaches, with
# intervals.

# %%
risk = model.predict_proba(X_val)[:, 1]
groups = pvf.efficiency_by_group(
    y_val, y_score=risk, groups=X_val["ward"].fillna("unknown"), capacity=0.1
)
groups.style.format(precision=2).set_uuid("how-to-groups")

# %% [markdown]
# ## Several resources
#
# Beds for 5 in a hundred, visits for 20, calls for 50: one run with a dict of scorers has a result
# for each, on the same perturbed sets.

# %%
resources = {"bed": 0.05, "visit": 0.2, "call": 0.5}
several = pvf.perturbation_validation(
    fitted,
    X_val,
    y_val,
    perturbation=noise,
    scoring={
        name: pvf.intervention_efficiency_scorer(capacity, by="rank")
        for name, capacity in resources.items()
    },
    n_sets=n_sets,
    random_state=seed,
)
several.to_frame()[["aggregated", "selected"]].style.format(
    precision=2
).set_uuid("how-to-resources")

# %% [markdown]
# ## Large data
#
# A logistic regression on numbers has a law under Gaussian noise, so that nothing need be drawn:
# `method="auto"` takes it where there is one. What has to be drawn is drawn in blocks that fit
# `memory_budget`, on as many workers as `n_jobs` says, with the same bits.

# %%
from sklearn.datasets import make_classification

X_many, y_many = make_classification(20_000, weights=[0.9], random_state=seed)
linear = {
    f"C = {c:g}": LogisticRegression(C=c).fit(X_many[:2000], y_many[:2000])
    for c in (0.001, 1.0)
}
exact = pvf.perturbation_validation(
    linear,
    X_many[2000:],
    y_many[2000:],
    perturbation=pvf.Perturbation(pvf.GaussianNoise(0.2)),
    scoring="f1",
    n_replicas=1,
    method="auto",
)
exact.to_frame()[["aggregated", "sd"]].style.format(precision=4).set_uuid(
    "how-to-large"
)

# %% [markdown]
# ## Add a mechanism
#
# Any object with `fit(column)` and `sample(column, size, rng)` is one. This one exchanges a value
# for that of another patient now and then, as a mix-up of samples would.


# %%
class MixUp:
    """Exchange a share of the values for other patients'."""

    def __init__(self, share):
        self.share = share

    def fit(self, column):
        """Learn which values there are."""
        self.values_ = np.asarray(column)
        return self

    def sample(self, column, size, rng):
        """Return copies of shape (size, n_samples)."""
        values = np.asarray(column)
        others = rng.choice(self.values_, size=(size, len(values)))
        return np.where(rng.random(others.shape) < self.share, others, values)


# %% [markdown]
# It stands in a `Perturbation` beside the library's own.

# %%
mixed_up = pvf.perturbation_validation(
    fitted,
    X_val,
    y_val,
    perturbation=pvf.Perturbation(
        {"crp": MixUp(0.02), "age": pvf.GaussianNoise(2.0)}
    ),
    scoring=by_rank,
    n_sets=n_sets,
    random_state=seed,
)
mixed_up.to_frame()[["aggregated", "unperturbed"]].style.format(
    precision=3
).set_uuid("how-to-mechanism")

# %% [markdown]
# ## Write a card
#
# A card tells readers how the model was chosen, how many others would have done, and for whom they
# differ. `save("card.html")` writes it as a page.

# %%
card = pvf.model_card(
    result,
    X=X_val,
    y=y_val,
    scoring=by_rank,
    title="A simulated ward",
    unit="patients",
    limits=["The patients are simulated."],
)
facts = {name: card.facts[name] for name in ("selected", "set_size", "n_tied")}
pd.Series(facts, name="value").to_frame().style.set_uuid("how-to-card")

# %% [markdown]
# ## In short
#
# Candidates are any fitted models of scikit-learn's kind, pipelines included; what perturbs them,
# what scores them and what limits them are three arguments that can be exchanged one by one.
