# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # PMV: can falling training accuracy choose a model?
#
# Flip a few labels, train again, and look at the accuracy on those same labels. A model that suits
# the data cannot follow the flips, so its training accuracy falls. {cite:t}`zhang2019pmv` choose the
# model whose training accuracy falls fastest, and call this Perturbed Model Validation (PMV). Does
# their table come out again, and does PMV choose better models than the usual rules?
#
# **Answer.** The table comes out again: {glue:text}`pmv_closest_same:.0f` of 189 cells are equal to
# the last digit, and all lie {glue:text}`pmv_closest:.3f` from the paper's on average. But judged by
# fresh data PMV is right on {glue:text}`pmv_right_pmv:.0f`% of data sets, where ten-fold
# cross-validation is right on {glue:text}`pmv_right_cv:.0f`%.

# %% tags=["parameters"]
n_table_runs = 2  # the paper: 1; full: 10
n_seeds = 2  # new data sets of each kind and noise level; full: 200
n_depth_runs = 5  # the paper: 5; full: 50
n_network_runs = 2  # on digits; full: 2
n_mnist_runs = 0  # the paper: 1; full: 1
n_rule_sets = 2  # data sets of each problem on which rules choose; full: 20
tuning_data = ["breast-cancer"]  # full: also "adult, 5%" and "adult"
network_sizes = [10, 40, 100]  # full: as the paper, 10 to 800
problems = ["clusters 2.0", "breast-cancer"]  # full: all seven
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
# better than the one that the paper means, and neighbouring depths of a tree have nearly equal slopes,
# so that new flips decide among them.
#
# ## So what
#
# *For a ward:* if candidates can be trained again on all patients, choose by cross-validation; on the
# synthetic problems it lost least. PVF improves on the hold-out that it perturbs, and of these rules
# it alone can judge models that are already trained. *For a reviewer:* a slope of 0 says "learns by
# heart", not "predicts badly"; a good forest has it too.
#
# {numref}`fig-pmv-losses` sets all rules side by side on seven problems.

# %%
from studies.pmv2019.rules import SIDE_BY_SIDE

rules = SIDE_BY_SIDE.run(
    problems=problems, n_repetitions=n_rule_sets, seed=seed
)

# %% mystnb={"figure": {"name": "fig-pmv-losses", "caption": "External score that each rule's choice loses against the best candidate: mean over data sets and problems with 95% intervals; the committed results, over seven problems, are pale. Accuracy and F1 in percentage points, IE as a ratio to random choice."}, "image": {"alt": "Three panels, for accuracy, F1 and IE, with nine rules as rows and two markers each, for synthetic and for clinical problems."}}
rules.figure("fig-pmv-losses")

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

show(verdict_table([f"PMV-{i}" for i in range(1, 11)]), "pmv-verdicts")

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
#
# The network of PMV-8
# : scikit-learn's, with one hidden layer, its defaults, and 50 passes over the data; the paper
#   describes none.

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

# %% mystnb={"figure": {"name": "fig-pmv-picks", "caption": "How often each rule picks a model within 0.005 of the best true accuracy (left), and the model that the paper means (right). This run with 95% Wilson intervals; the committed results are pale."}, "image": {"alt": "Two panels with seven kinds of data as rows and three rules as markers: PMV, ten-fold accuracy and ten-fold gap."}}
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
# (pmv-memorisers)=
# ## Learners that memorise
#
# A tree of unlimited depth learns any labels, so its slope is 0. So do a forest of such trees and a
# nearest neighbour, though a forest of them is a good classifier: slope 0 says "learns by heart",
# not "predicts badly".

# %% table="Slope of PMV for learners that memorise, and others."
from studies.pmv2019.tuning import MEMORISERS, TREE_GAPS

large = [name for name in tuning_data if name == "adult"]  # for trees alone
others = [name for name in tuning_data if name != "adult"]
learners = MEMORISERS.run(data=others, trees_only=large, seed=seed)
slopes = learners.estimates.query("quantity == 'slope'")
show(text_table(slopes, "learner", "dataset", spec=".3f"), "pmv-memorisers")

# %% [markdown]
# Adult holds rows that are equal in all features, and flips can part their labels; so not even an
# unlimited tree is quite flat there (committed: −0.0006). A learner that always answers the larger
# class falls with the difference of the class shares, which makes slopes of different data sets
# incomparable.

# %% table="The gap between training and test accuracy of the unlimited tree, with the range of single runs."
from studies.pmv2019.show import runs_shown

gap_data = [name for name in tuning_data if name != "adult, 5%"]
gaps = TREE_GAPS.run(data=gap_data, n_repeats=min(n_depth_runs, 10), seed=seed)
gap_ranges = runs_shown(gaps.estimates)
show(text_table(gap_ranges, "dataset", "folds", spec=".3f"), "pmv-tree-gaps")

# %% [markdown]
# ## The depth of a tree
#
# PMV and grid search pick the depth of a tree between 1 and 20. Grid search as scikit-learn runs it
# cuts the same folds every time, so that only the trees' seeds differ between runs; with shuffled
# folds it shows how much it depends on the folds. "adult, 5%" is one sample of 1,628 rows, since the
# paper speaks of small data there.

# %%
from IPython.display import Markdown

from studies.pmv2019.tuning import DEPTHS, GRID_DEPTHS

runs = {"data": tuning_data, "n_repeats": n_depth_runs, "seed": seed}
depths, grid = DEPTHS.run(**runs), GRID_DEPTHS.run(**runs)
Markdown(depths.says())

# %% table="Depth that is picked: median, and the central 95% of runs."
import pandas as pd

picked = pd.concat([depths.estimates, grid.estimates])
picked = picked[picked["quantity"] == "depth"]
ranges = picked.assign(low=picked["run_low"], high=picked["run_high"])
show(text_table(ranges, "dataset", "method", spec=".0f"), "pmv-picked-depths")

# %% [markdown]
# The paper has 2 by PMV and 3 by grid search on the breast data, 5 and 7 on Adult.
# {numref}`fig-pmv-depths` shows how flat the slope is around its peak.

# %% mystnb={"figure": {"name": "fig-pmv-depths", "caption": "Above: slope of PMV over the depth of the tree, mean of this run with its interval, and where 95% of the committed runs fall. Below: which depths this run picks."}, "image": {"alt": "For each data set two panels. The slope rises to a flat top at small depths and falls for deep trees. The depths picked by PMV and by grid search are spread over several values on the small data."}}
depths.figure("fig-pmv-depths", grid=grid.estimates)

# %%
alike = pd.concat([depths.reference, grid.reference])
alike = alike[alike["quantity"] == "pairs alike"]
agree = alike.set_index(["dataset", "method"])["estimate"] * 100
methods = {"pmv": "PMV", "grid": "grid search"}
methods["shuffled"] = "grid search, shuffled"
for name, method in methods.items():
    breast, adult = agree["breast-cancer", method], agree["adult", method]
    glue(f"pmv_breast_{name}", float(breast), display=False)
    glue(f"pmv_adult_{name}", float(adult), display=False)

# %% [markdown]
# On the breast data two runs of PMV agree in {glue:text}`pmv_breast_pmv:.0f`% of pairs, two grid
# searches in {glue:text}`pmv_breast_grid:.0f`%, with shuffled folds in
# {glue:text}`pmv_breast_shuffled:.0f`%; on Adult in {glue:text}`pmv_adult_pmv:.0f`%,
# {glue:text}`pmv_adult_grid:.0f`% and {glue:text}`pmv_adult_shuffled:.0f`%. PMV is no more settled
# than grid search: the slope is nearly the same for neighbouring depths, and new flips decide among
# them. Its picks stay closer together on the breast data, as it prefers shallow trees. Grid search
# on all of Adult is perfectly stable as long as its folds are fixed, which says nothing about other
# folds.
#
# ## Hidden neurons
#
# Networks with one hidden layer, zeros against ones; the digits of scikit-learn (360 images of
# 8 × 8) and MNIST's (2,115 of 28 × 28). All ten noise levels, 50 passes over the data.

# %%
from studies.pmv2019.tuning import HIDDEN_SIZES

hidden = HIDDEN_SIZES.run(
    n_digits_runs=n_network_runs,
    n_mnist_runs=n_mnist_runs,
    sizes=network_sizes,
    seed=seed,
)
Markdown(hidden.says())

# %% [markdown]
# The slopes, and the errors of a split of the same data:

# %% mystnb={"figure": {"name": "fig-pmv-hidden", "caption": "Above: slope of PMV over the number of hidden neurons. Below: errors of a 70:30 split. Bars: from the least to the largest of this page's runs; the committed runs are pale."}, "image": {"alt": "Two columns of panels, digits and MNIST. Above, the slope over the number of neurons; below, training and test error, both small."}}
hidden.figure("fig-pmv-hidden")

# %% [markdown]
# In our networks the slope falls from the smallest size on, on both data sets, so PMV picks ten
# neurons, not forty. The errors say little: with a handful of test images wrong, nearly all sizes
# are alike. That the slope keeps falling where the test error is level, as the paper notes, holds
# here too.
#
# (pmv-levels)=
# ## Few noise levels, and the line
#
# Each of the 45 ways to take two of the ten levels, beside the data as they are, picks a depth. How
# often is it that of all ten? Two full runs differ as well; that is the measure.

# %% table="How often two noise levels pick the depth that ten pick (%)."
from studies.pmv2019.show import percent_table

levels = depths.estimates[depths.estimates["quantity"].str.startswith("two ")]
show(percent_table(levels, "dataset"), "pmv-levels")

# %% [markdown]
# {numref}`fig-pmv-curves` shows the curves to which the lines are fitted.

# %% mystnb={"figure": {"name": "fig-pmv-curves", "caption": "Training accuracy over the share of flipped labels for trees of five depths: mean of this run with its interval, and where 95% of the committed runs fall."}, "image": {"alt": "A panel for each data set. Shallow trees fall on straight lines; a tree of depth 20 stays at one on the small data and falls on a bent curve on Adult."}}
depths.figure("fig-pmv-curves")

# %% [markdown]
# The curve is a line for trees that cannot memorise. For deep trees it bends or stays flat, and a
# slope is a poor summary of it; they have the smaller slopes, so the choice is not affected.
#
# ## Four ways to choose a model
#
# Now the comparison. Five synthetic problems: two clusters in which a pair of features is known to
# be right, at two distances of the centres, with ten logistic regressions to choose from; moons,
# circles and linear data with noise, with the seven classifiers. Two clinical ones: a hundred
# patients to choose by and train on, all others as the external test, the same seven classifiers.
# Whatever a rule picks is then trained on all hundred samples.
#
# Each rule gets its due in this way:
#
# PMV
# : sees all samples, needs no validation part, and spends six fits a candidate (noise 0 to 0.5).
#
# Hold-out and PVF
# : compare models trained on 70 samples by the other 30; PVF perturbs those (σ = 0.1, 100 sets, 7
#   copies, first quartile). What they pick may still learn from all. PVF could also judge models
#   that are already trained, which PMV cannot, as it must train them again.
#
# Cross-validation (CV)
# : five folds, five fits a candidate.
#
# "F1", "IE" and "accuracy" name the score that a rule uses; the capacity of Intervention Efficiency
# (IE) is γ = 0.3. "any" picks a candidate blindly. *Right* is the known pair where there is one,
# else within a point of the best external accuracy. *Lost* is external score short of the best
# candidate's. *Same again* is the chance that the rule picks the same model when it is run again on
# the same data with new flips, splits, noise or folds. *Seconds* are for one choice among all
# candidates, on one core.

# %%
Markdown(rules.says())

# %% table="Accuracy lost outside by each rule’s choice, in points, in this run."
found = rules.estimates
lost = found[found["quantity"] == "regret accuracy"]
show(text_table(lost, "rule", "problem", spec=".1f", scale=100), "pmv-rules")

# %% [markdown]
# {numref}`fig-pmv-losses` draws the losses. The averages hide that the problems differ.

# %% table="How often each rule is right (%), problem by problem."
right = found[found["quantity"] == "right"]
show(percent_table(right, "rule", "problem"), "pmv-problems")

# %%
from studies.pmv2019.show import kind_means

at = kind_means(rules.reference).set_index(["kind", "rule", "quantity"])
quantities = {
    "right": "right",
    "lost": "regret accuracy",
    "lost_f1": "regret F1",
    "stable": "stable",
}
underscores = str.maketrans(" -", "__")
for kind in ("synthetic", "clinical"):
    for rule in ("PMV", "PVF F1", "hold-out F1", "CV accuracy", "CV F1"):
        name = f"pmv_{kind}_{rule}".translate(underscores)
        for end, quantity in quantities.items():
            value = at.loc[(kind, rule, quantity), "estimate"]
            glue(f"{name}_{end}", float(100 * value), display=False)
glue("pmv_n_rules", float(rules.reference["n"].iloc[0]), display=False)

# %% [markdown]
# **On the synthetic problems** cross-validation by accuracy loses least,
# {glue:text}`pmv_synthetic_CV_accuracy_lost:.1f` points, against
# {glue:text}`pmv_synthetic_PVF_F1_lost:.1f` for PVF by F1,
# {glue:text}`pmv_synthetic_hold_out_F1_lost:.1f` for the hold-out by F1 and
# {glue:text}`pmv_synthetic_PMV_lost:.1f` for PMV. PVF improves on the hold-out that it perturbs: it
# is right in {glue:text}`pmv_synthetic_PVF_F1_right:.0f`% of choices instead of
# {glue:text}`pmv_synthetic_hold_out_F1_right:.0f`%, at twice the cost. PMV is right in
# {glue:text}`pmv_synthetic_PMV_right:.0f`%; where it errs, it errs by more. It costs about as much as
# cross-validation and is about as stable.
#
# **On the clinical problems** no rule is clearly ahead; the intervals, over
# {glue:text}`pmv_n_rules:.0f` data sets a problem, are wide. Few cervical patients are cases, so
# what is good by accuracy is not what is good by F1 or IE: cross-validation by accuracy is mostly
# right by accuracy, and loses {glue:text}`pmv_clinical_CV_accuracy_lost_f1:.0f` points of F1. PMV
# loses the fewest points of F1, {glue:text}`pmv_clinical_PMV_lost_f1:.0f`, and repeats its choice
# most often, but loses {glue:text}`pmv_clinical_PMV_lost:.0f` points of accuracy.

# %% [markdown]
# ## This run and the committed results
#
# Tables and figures show this page's own run, with the committed full results pale behind it; the
# verdicts are of the full results alone. The reduced run draws fewer data sets and repeats less.
#
# The file of Connect-4 was not at hand, so its claims are not tested; where the file is,
# `python -m studies tables` includes it. Of MNIST's 14,780 zeros and ones we had the 2,115 of its part
# of 10,000 images. Adult and MNIST appear on this page from the committed results alone; the live
# parts use data that come with scikit-learn or are drawn.

# %%
from studies.pmv2019 import STUDIES

Markdown(table.says())

# %% table="Where the full results come from."
show(provenance_table(*(study.name for study in STUDIES)), "pmv-origins")

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
