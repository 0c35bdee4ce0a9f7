# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # PMV: does its table come out again?
#
# Flip a few labels, train again, and look at the accuracy on those same labels. A model that suits
# the data cannot follow the flips, so its training accuracy falls. {cite:t}`zhang2019pmv` choose the
# model whose training accuracy falls fastest, and call this Perturbed Model Validation (PMV). Does
# their table come out again, and is the model that PMV picks the best one?
#
# **Answer.** The table comes out again: {glue:text}`pmv_closest_same:.0f` of 189 cells are equal to
# the last digit, and all lie {glue:text}`pmv_closest:.3f` from the paper's on average. But judged by
# fresh data PMV is right on {glue:text}`pmv_right_pmv:.0f`% of data sets, where ten-fold
# cross-validation is right on {glue:text}`pmv_right_cv:.0f`%.

# %% tags=["parameters"]
n_table_runs = 2  # the paper: 1; full: 10
n_seeds = 2  # new data sets of each kind and noise level; full: 200
n_gap_runs = 5  # the paper: 5; full: 10
gap_data = ["breast-cancer"]  # full: also "adult"
learner_data = ["breast-cancer"]  # for all learners; full: also "adult, 5%"
tree_data = []  # for trees alone; full: "adult"
seed = 20190524

# %%
from myst_nb import glue

from studies.kit.show import provenance_table, show, text_table
from studies.pmv2019.table1 import DISTANCES, TABLE1, beside_paper

table = TABLE1.run(n_repeats=n_table_runs, seed=seed)
distances = DISTANCES.estimate(DISTANCES.committed()[0])

# %% mystnb={"figure": {"name": "fig-pmv-table1", "caption": "Table 1, this run's cells over the paper's; the committed runs are pale. Bars: where one more run is expected (95%). On the line the two are equal."}, "image": {"alt": "Three panels of points along the diagonal. Test accuracies and gaps lie on it, but for one gap that the paper prints as 0.87; slopes scatter about it."}}
table.figure("fig-pmv-table1")

# %% [markdown]
# ## Why
#
# PMV looks for the model that *suits* the data: one that neither follows flipped labels nor ignores
# the true ones. A model that learns by heart has slope 0, one that always gives the same answer falls
# little. That is not the same as predicting best: on circles with noise several models are a little
# better than the one that the paper means.
#
# ## So what
#
# *For a ward:* a good slope says that a model does not learn by heart, not that it errs least; of
# several such models take the one that errs least on patients whom it has not seen. *For a reviewer:*
# a slope of 0 says "learns by heart", not "predicts badly"; a good forest has it too. How PMV fares
# beside PVF, a hold-out and cross-validation is in [](09_four_ways.ipynb).

# %% [markdown]
# ## In code
#
# The slope for trees of three depths, on two moons. The tree that can memorise hardly falls:

# %% tags=["essential"]
import pvf
from sklearn.datasets import make_moons
from sklearn.tree import DecisionTreeClassifier as Tree

X, y = make_moons(300, noise=0.2, random_state=0)
levels = [0, 0.1, 0.2, 0.3, 0.4, 0.5]
for depth in (1, 4, None):
    found = pvf.perturbed_model_validation(
        Tree(max_depth=depth), X, y, noise_levels=levels, random_state=0
    )
    print(f"depth {depth}: slope {found.decrease_rate:.2f}")

# %% [markdown]
# ## Verdicts
#
# The tolerance of each claim stands in the ledger.

# %%
from studies.kit.claims import verdict_table

show(verdict_table([f"PMV-{i}" for i in range(1, 6)]), "pmv-verdicts")

# %% [markdown]
# ## What the paper leaves open, and what we decided
#
# How many samples Table 1 has, what its "noise" is, and what was changed of scikit-learn's script
# : We searched the likely settings, and use one of those closest to the printed cells.
#
# AdaBoost
# : scikit-learn's default of 2019 has since been removed; we wrote it anew. Both are shown.
#
# What "right" means
# : Fresh data tell the true accuracy. A choice is right if it is within half a point of the best.
#
# Categories of Adult as numbers
# : By their order where they have one, else by the alphabet.

# %% [markdown]
# ## Table 1: which setting did the paper use?
#
# Seven classifiers of scikit-learn's classifier comparison, three kinds of two-dimensional data,
# three noise levels. First, which setting is closest? Each row changes one or two things; the
# distance is the mean absolute difference over the paper's 189 cells. Without the Gaussian process,
# too slow for large data, "at least" is the least that it can be over all cells. This search is
# shown from the committed results.

# %% table="Settings of Table 1 and how far their cells lie from the paper’s."
counts = {"cells": ".0f", "same_digits": ".0f"}
columns = ["at_least", "distance_six", "slope", "test_accuracy", "gap"]
digits = counts | dict.fromkeys(columns, ".4f")
names = {
    "at_least": "at least, 189 cells",
    "distance_six": "six models",
    "test_accuracy": "test accuracy",
    "same_digits": "same digits",
}
found = distances[distances["quantity"] != "distance"]
show(text_table(found, "setting", spec=digits, names=names), "pmv-distances")

# %% [markdown]
# All rows at the top have 100 samples, noise on the features (so none on the linear data), features
# as they are, and folds of consecutive rows. Among depths of 10 and more one run's chance decides; we
# keep 10 for trees and forests, "as in this chapter", from here on.

# %%
at = distances.set_index(["setting", "quantity"])["estimate"]
ours, script = at["as in this chapter"], at["the script as it stands"]
glue("pmv_closest", float(ours["distance"]), display=False)
glue("pmv_closest_same", float(ours["same_digits"]), display=False)
glue("pmv_script", float(script["distance"]), display=False)

# %% [markdown]
# In the committed search the script as it stands lies {glue:text}`pmv_script:.3f` from the paper's
# cells, our setting {glue:text}`pmv_closest:.3f`, with {glue:text}`pmv_closest_same:.0f` of 189 cells
# equal to the last digit. A setting found by searching for the paper's numbers is not proof that it
# was the paper's; but that naive Bayes and both SVMs meet every printed accuracy is hard to get by
# chance.

# %% [markdown]
# ## Table 1, cell by cell
#
# {numref}`fig-pmv-table1` sets all cells beside the paper's.

# %% table="The slopes of PMV, ours with the range of single runs, beside the paper’s."
from studies.pmv2019.show import table_beside_paper

cells = beside_paper(table.estimates)
show(table_beside_paper(cells, "slope"), "pmv-slopes")

# %% table="Test accuracy by ten-fold cross-validation, ours beside the paper’s."
show(table_beside_paper(cells, "test_accuracy"), "pmv-accuracies")

# %% [markdown]
# The gap between training and test accuracy. The paper's 0.87 for naive Bayes on moons cannot be a
# gap where the test accuracy is 0.86; 0.01 is likely meant.

# %% table="The gap between training and test accuracy, ours beside the paper’s."
show(table_beside_paper(cells, "gap"), "pmv-gaps")

# %% [markdown]
# **AdaBoost then and now.** In 2019 scikit-learn boosted class probabilities (SAMME.R); today it
# boosts class decisions (SAMME). Mean difference from the paper's nine cells:

# %% table="AdaBoost: mean difference from the paper’s nine cells, by algorithm."
from studies.pmv2019.table1 import paper_table

both = table.estimates.merge(paper_table())
boosted = both[both["model"] == "AdaBoost"]
apart = (boosted["estimate"] - boosted["paper"]).abs()
by_algorithm = apart.groupby([boosted["quantity"], boosted["boosting"]])
show(by_algorithm.mean().unstack().round(3), "pmv-boosting")

# %% [markdown]
# ## Who is picked, and how often that is right
#
# The paper drew each data set once. We draw new ones from the same distributions, let every rule
# pick, and judge the pick on 5,000 fresh samples. Without noise, moons and circles are the same
# points every time, so fewer draws of them suffice.

# %% table="How often each rule picks which model (%)."
from studies.pmv2019.picks import PICKS
from studies.pmv2019.show import shown_picks
from studies.pmv2019.table1 import MODELS

picks = PICKS.run(n_seeds=n_seeds, n_orders=min(n_seeds, 10), seed=seed)
show(shown_picks(picks.estimates, MODELS), "pmv-picks")

# %% [markdown]
# {numref}`fig-pmv-picks` shows two different questions: does the rule pick the model that the paper
# holds to fit, and does it pick a model that predicts well?

# %% mystnb={"figure": {"name": "fig-pmv-picks", "caption": "How often each rule picks a model within 0.005 of the best true accuracy (left), and the model that the paper means (right), by kind of data and noise. This run with 95% Wilson intervals; the committed results are pale."}, "image": {"alt": "Two panels with seven kinds of data as rows and three rules as markers: PMV, ten-fold accuracy and ten-fold gap."}}
picks.figure("fig-pmv-picks")

# %%
means = picks.reference.query("distribution == 'all'")
means = means.set_index(["rule", "quantity"])["estimate"] * 100
for rule, name in {"PMV": "pmv", "CV accuracy": "cv"}.items():
    for quantity in ("right", "fitting", "regret"):
        share = float(means[rule, quantity])
        glue(f"pmv_{quantity}_{name}", share, display=False)

# %% [markdown]
# In the committed results PMV does what the paper says: it picks the
# model that the paper means on {glue:text}`pmv_fitting_pmv:.0f`% of them, ten-fold accuracy on
# {glue:text}`pmv_fitting_cv:.0f`%. But the model that the paper means is not always the one that
# predicts best. On circles with noise the RBF SVM and the Gaussian process are a little better than
# naive Bayes, and on linear data the linear SVM, held back by its small C, is often beaten. By true
# accuracy PMV is right on {glue:text}`pmv_right_pmv:.0f`% of data sets and loses
# {glue:text}`pmv_regret_pmv:.2f` points on average; ten-fold accuracy is right on
# {glue:text}`pmv_right_cv:.0f`% and loses {glue:text}`pmv_regret_cv:.2f`. That cross-validation "does
# not settle" is because several models are equally good, and it does no harm.
#
# ## Learners that memorise
#
# A tree of unlimited depth learns any labels, so its slope is 0. So do a forest of such trees and a
# nearest neighbour, though a forest of them is a good classifier: slope 0 says "learns by heart",
# not "predicts badly" ({numref}`fig-pmv-memorisers`).

# %% mystnb={"figure": {"name": "fig-pmv-memorisers", "caption": "Slope of PMV for learners that memorise, and for others, with 95% intervals over runs; pale: the committed results. At 0 training accuracy does not fall with the flips."}, "image": {"alt": "Seven rows of learners with one mark for each data set. The unlimited tree, the forest of such trees and one nearest neighbour lie at zero; shallow trees, five neighbours and a constant answer lie between minus a quarter and minus seven tenths."}}
from studies.pmv2019.tuning import MEMORISERS, TREE_GAPS

learners = MEMORISERS.run(data=learner_data, trees_only=tree_data, seed=seed)
learners.figure("fig-pmv-memorisers")

# %% [markdown]
# Adult holds rows that are equal in all features, and flips can part their labels; so not even an
# unlimited tree is quite flat there (it falls by {glue:text}`pmv_adult_tree:.4f`). A learner that
# always answers the larger class falls with the difference of the class shares, which makes slopes of
# different data sets incomparable.
#
# Cross-validation sees that the unlimited tree learns by heart: its training accuracy lies far above
# that of the tenth left out. The paper prints this gap; {numref}`fig-pmv-gaps` sets ours beside it,
# for three ways to cut the folds.

# %% mystnb={"figure": {"name": "fig-pmv-gaps", "caption": "Gap between training and test accuracy of the unlimited tree under ten-fold cross-validation, for three ways to cut the folds; bars: where one more run is expected (95%). Pale: the committed results. Diamond: the paper."}, "image": {"alt": "Two panels, breast cancer and Adult, with three rows each. The paper's diamond lies within our range for folds in order: near 0.07 on breast cancer and 0.19 on Adult."}}
from studies.kit.claims import claims

gaps = TREE_GAPS.run(data=gap_data, n_repeats=n_gap_runs, seed=seed)
gaps.figure("fig-pmv-gaps", paper=claims()["PMV-5"]["numbers"])

# %%
slopes = learners.reference.set_index(["dataset", "learner", "quantity"])
on_adult = slopes.loc[("adult", "tree, unlimited", "slope"), "estimate"]
glue("pmv_adult_tree", float(-on_adult), display=False)

# %% [markdown]
# ## This run and the committed results
#
# Tables and figures show this page's own run, with the committed full results pale behind it; the
# verdicts are of the full results alone. The reduced run draws fewer data sets and repeats less.
#
# The file of Connect-4 was not at hand, so its claims are not tested; where the file is,
# `python -m studies tables` includes it. Adult appears on this page from the committed results alone;
# the live parts use data that come with scikit-learn or are drawn.

# %%
from IPython.display import Markdown

Markdown(table.says())

# %% table="Where the full results come from."
names = ["pmv_table1", "pmv_table1_runs", "pmv_distances", "pmv_picks"]
names += ["pmv_memorisers", "pmv_tree_gaps"]
show(provenance_table(*names), "pmv-origins")

# %% [markdown]
# ## Exercise
#
# Why does a nearest-neighbour classifier with one neighbour have slope 0, whatever the data? Check it
# in the cell above with `KNeighborsClassifier(1)`.
#
# :::{dropdown} Answer
# Each training sample is its own nearest neighbour, so its flipped label is given back: training
# accuracy is 1 at every noise level, and the line through it is level. Only equal rows with different
# labels could lower it.
# :::
