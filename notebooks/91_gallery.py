# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Gallery: three worked examples
#
# Each example stands by itself and can be copied. They show the library from fitted models to a
# choice, on numbers alone, on a table of mixed columns, and inside a grid search.
#
# **Run time.** Seconds.

# %% [markdown]
# The examples share the seed and the number of perturbed sets.

# %% tags=["parameters"]
n_sets = 100  # the paper: 100
seed = 0

# %% [markdown]
# ## Breast cancer: which tree?
#
# Thirty measurements of 569 tumours {cite:p}`wolberg1993breast`. We keep 60 patients to choose by,
# as a small hospital might have, 300 to judge the choice, and fit twenty small trees on the rest.

# %%
import pvf
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from studies.data.datasets import load_breast_cancer

data = load_breast_cancer()
X_fit, X_test, y_fit, y_test = train_test_split(
    data.X, data.y, test_size=300, stratify=data.y, random_state=seed
)
X_train, X_val, y_train, y_val = train_test_split(
    X_fit, y_fit, test_size=60, stratify=y_fit, random_state=seed
)

# %% [markdown]
# The trees look at different features, so that they differ; all are fitted on the same patients.

# %%
trees = {
    f"tree {number}": DecisionTreeClassifier(
        max_depth=3, max_features=4, random_state=number
    )
    for number in range(20)
}
fitted = {name: tree.fit(X_train, y_train) for name, tree in trees.items()}

# %% [markdown]
# The measurements have different units, so each gets noise in its own: a tenth of its standard
# deviation among the training patients.

# %% table="The leading trees by PVF, with their unperturbed scores."
noise = pvf.Perturbation(
    {
        name: pvf.GaussianNoise(0.1 * spread)
        for name, spread in X_train.std().items()
    }
)
result = pvf.perturbation_validation(
    fitted,
    X_val,
    y_val,
    perturbation=noise.fit(X_train),
    scoring=pvf.intervention_efficiency_scorer(0.3),
    n_sets=n_sets,
    random_state=seed,
)
leading = result.to_frame().sort_values("aggregated", ascending=False).head(6)
leading.style.format(precision=3).set_uuid("gallery-trees")

# %% [markdown]
# The unperturbed score is what one would have selected by without the perturbation. The book offers
# all of them as CSV.

# %%
from book.tools.figures import keep_data

keep_data("fig-gallery-trees", result.to_frame())

# %% [markdown]
# {numref}`fig-gallery-trees` shows all scores.

# %% mystnb={"figure": {"name": "fig-gallery-trees", "caption": "Twenty trees on the perturbed validation sets: box, middle half; whiskers, extremes; diamond, aggregated score; cross, unperturbed score."}, "image": {"alt": "Box plots of the scores of fifteen trees on the perturbed validation patients, the selected one on top."}}
import matplotlib.pyplot as plt
import pandas as pd

figure = result.plot().figure
plt.close(figure)  # a notebook would show it twice
figure

# %% [markdown]
# The curve of Intervention Efficiency over capacity is worked out first, with its numbers kept.

# %%
curve = pvf.InterventionEfficiencyDisplay.from_estimator(
    result.best_model,
    X_test,
    y_test,
    name=result.best_name,
    n_bootstraps=500,
    random_state=seed,
)
plt.close(curve.figure_)
points = {"capacity": curve.capacity, "efficiency": curve.efficiency}
keep_data("fig-gallery-efficiency", pd.DataFrame(points))

# %% [markdown]
# What the choice is worth on the 300 patients that nobody has selected by, over all capacities
# ({numref}`fig-gallery-efficiency`):

# %% mystnb={"figure": {"name": "fig-gallery-efficiency", "caption": "Intervention Efficiency of the tree that PVF selects, on 300 other patients, with a 95% bootstrap band."}, "image": {"alt": "Intervention Efficiency of one tree over capacity, with a band, below the limit of a perfect model and down to 1 where everyone is treated."}}
curve.figure_

# %% [markdown]
# ## A pandas pipeline with mixed columns
#
# A table of patients with numbers, levels and categories; here the simulated cohort of
# [](90_your_data.ipynb), in which nobody exists. We take the complete rows.

# %% table="The first three people of the simulated cohort."
from pvf.select.example import make_cohort

cohort = make_cohort(600, seed=seed).dropna()
features = cohort[["age", "crp", "albumin", "frailty", "ward"]]
died = (cohort["died"] == "yes").astype(int)
features.head(3)

# %% [markdown]
# Each column is perturbed by its kind: noise for numbers, shifts along the order for levels, flips
# for categories.

# %%
mixed = pvf.Perturbation(
    {
        "age": pvf.GaussianNoise(2.0),  # years
        "crp": pvf.GaussianNoise(3.0),  # mg/l
        "albumin": pvf.GaussianNoise(1.0),  # g/l
        "frailty": pvf.OrdinalShift(
            0.1, 1.0, order=["mild", "moderate", "severe"]
        ),
        "ward": pvf.NominalFlip(0.1),
    }
)

# %% [markdown]
# The candidates are pipelines that take the frame as it is, text columns included.

# %%
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

encode = make_column_transformer(
    (StandardScaler(), ["age", "crp", "albumin"]),
    (OrdinalEncoder(categories=[["mild", "moderate", "severe"]]), ["frailty"]),
    (OneHotEncoder(handle_unknown="ignore"), ["ward"]),
)
candidates = {
    f"C = {c:g}": make_pipeline(
        encode, LogisticRegression(C=c, class_weight="balanced")
    )
    for c in (0.001, 0.01, 0.1, 1.0)
}
candidates["tree"] = make_pipeline(
    encode,
    DecisionTreeClassifier(
        max_depth=4, class_weight="balanced", random_state=seed
    ),
)

# %% [markdown]
# Fit on one part, select by the other:

# %% table="Candidates on mixed columns: perturbed and unperturbed scores."
X_train, X_val, y_train, y_val = train_test_split(
    features, died, test_size=0.4, stratify=died, random_state=seed
)
result = pvf.perturbation_validation(
    {name: model.fit(X_train, y_train) for name, model in candidates.items()},
    X_val,
    y_val,
    perturbation=mixed.fit(X_train),
    scoring=pvf.intervention_efficiency_scorer(0.1),
    n_sets=n_sets,
    random_state=seed,
)
result.to_frame().style.format(precision=3).set_uuid("gallery-mixed")

# %% [markdown]
# About whom do these candidates disagree? Rashomon Capacity of the validation patients; the first
# three of those with the largest:

# %% table="The patients with the largest Rashomon Capacity."
scores = [model.predict_proba(X_val)[:, 1] for model in result.models]
disagreement = pvf.multiplicity_table(scores, index=X_val.index)
top = disagreement.sort_values("capacity", ascending=False).head(3)
top.style.format(precision=3).set_uuid("gallery-disagreement")

# %% [markdown]
# ## `GridSearchCV` with `perturbation_scorer`
#
# The perturbation scorer goes wherever scikit-learn takes a scorer. Which depth does a search over
# five folds choose, with perturbation and without?

# %%
from sklearn.model_selection import GridSearchCV

searches = {
    "F1": "f1",
    "F1, perturbed": pvf.perturbation_scorer(
        "f1", perturbation=noise, n_sets=20
    ),
}
grid = {"max_depth": [1, 2, 3, 4, 6, 8], "min_samples_leaf": [1, 5, 10]}
found = {
    name: GridSearchCV(
        DecisionTreeClassifier(random_state=seed), grid, scoring=scoring
    ).fit(X_fit, y_fit)
    for name, scoring in searches.items()
}

# %% [markdown]
# The parameters that each search finds, its own best score, and F1 on the 300 other patients:

# %% table="What each search finds: parameters, its own best score, and F1 on other patients."
from sklearn.metrics import f1_score

compared = pd.DataFrame(
    {
        name: {
            **search.best_params_,
            "best score": search.best_score_,
            "F1 on other patients": f1_score(y_test, search.predict(X_test)),
        }
        for name, search in found.items()
    }
).T
compared.style.format(precision=3).set_uuid("gallery-grid")
