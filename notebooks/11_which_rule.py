# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which rule should choose the model?
#
# {cite:t}`zhang2026pvf` compare one rule with one other on two data sets. Over many data sets, which
# rule chooses good models, and does noise have to be in it?
#
# **Answer.** {glue:text}`rules_answer`. With the papers' trees, 120 people and treatment for a tenth
# of them, PVF at σ = 0.3 less the {term}`hold-out score <traditional method>` is
# {glue:text}`rules_difference` of the way from a candidate at random to the best one, over
# {glue:text}`rules_tables:.0f` data sets; by the rule registered before anything was computed this is
# *{glue:text}`rules_verdict`*.

# %% tags=["parameters"]
tables = ["haberman", "wdbc"]  # full: all data sets
sizes = [60, 120]  # people in a cohort; full: [60, 120, 240]
n_primary = 2  # cohorts for the primary question; full: 40
n_cohorts = 2  # cohorts elsewhere; full: 14
n_cohorts_mixed = 2  # cohorts with the mixed pool; full: 6
n_candidates = 20  # candidates in a pool; full: 100
seed = 20261128

# %%
from IPython.display import Markdown
from myst_nb import glue

from book.tools.figures import keep_data
from studies.kit.show import provenance_table
from studies.kit.show import show as styled
from studies.rules import POWER, RULES_STUDY, show

power = POWER.estimate(POWER.committed()[0])
run = RULES_STUDY.run(
    tables=tables,
    sizes=sizes,
    n_primary=n_primary,
    n_cohorts=n_cohorts,
    n_cohorts_mixed=n_cohorts_mixed,
    n_candidates=n_candidates,
    seed=seed,
)
full = run.reference
registered = RULES_STUDY.settings.full().n_primary
for name, value in show.numbers(full, power, registered).items():
    glue(f"rules_{name}", value, display=False)
glue("rules_minutes", run.provenance["wall_time"] / 60, display=False)
keep_data("fig-rules-shares", run.table)

# %% mystnb={"figure": {"name": "fig-rules-primary", "caption": "PVF at σ = 0.3 less the hold-out score with shared ties: mean difference in attainable share over data sets, with 95% intervals, for each pool, outcome and size. Grey: the smallest difference of interest. Open marks: the run on this page."}, "image": {"alt": "One panel for each pool of candidates; in each, rows of outcomes with one mark and interval for each size of cohort, around a grey band at zero."}}
run.figure("fig-rules-primary")

# %% [markdown]
# ## Why
#
# Perturbed validation patients do tell trees apart that tie on the patients as they are. But so do
# cheaper rules that add no noise, and with 120 people rows that a tree was not grown on do it as
# well: PVF less these out-of-bag rows is {glue:text}`rules_bags`. What helps is to use the patients
# more than once; noise is one way among several ({numref}`fig-rules-shares`).

# %% mystnb={"figure": {"name": "fig-rules-shares", "caption": "Attainable share of IE@0.1 of every rule, mean over data sets with 95% intervals, by pool and size; the two averages of candidates are no rules of choice. Open marks: the run on this page."}, "image": {"alt": "One panel for each pool and size; rows are rules, with a mark and an interval between zero, one at random, and one, the best candidate."}}
run.figure("fig-rules-shares")

# %% [markdown]
# (rules-wall)=
#
# ## So what
#
# *For a ward:* look up your number of validated cases and your kind of model in the table, and choose
# by that rule. Where its lead over the hold-out score holds 0 in its interval, these data don't show
# that it beats the simpler rule. *For a reviewer:* ask which rule chose the model, and whether a rule
# without noise was tried. The intervals speak of new data sets like these, not of another hospital.
# [](../wall.md) has the table as a sheet to print, for γ = 0.1, 0.3 and 0.5.

# %% table="For the wall: what to choose by, for IE at γ = 0.1. The rule of each row is judged on data sets that had no say in it; the last column says how often it is the rule named."
styled(show.wall_table(full), "rules-wall", index=False)

# %% [markdown]
# ## In code
#
# `Evidence` fits each candidate once, for all rules. How many of thirty trees does each rule leave
# tied, with 114 people of the breast-cancer data?

# %% tags=["essential"]
import pvf
from pvf.rules import Evidence, HoldOut, PerturbationValidation
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier as Tree

X, y = load_breast_cancer(return_X_y=True)
X, y = X[::5], 1 - y[::5]  # every fifth patient; one is malignant
pool = [Tree(max_depth=4, max_features=3, random_state=i) for i in range(30)]
evidence = Evidence(pool, X[24:], y[24:], X[:24], y[:24])
for rule in (HoldOut, PerturbationValidation):
    choice = rule(pvf.intervention_efficiency_scorer(0.1)).choose(evidence)
    print(f"{rule.__name__}: {len(choice.tied)} tied, takes {choice.index}")

# %% [markdown]
# ## What is measured, and what was asked beforehand
#
# The protocol was registered before anything was computed:
#
# 1. *Primary*: PVF (σ = 0.3) less hold-out with shared ties, trees, 120 people, Intervention
#    Efficiency (IE) at capacity γ = 0.1. The smallest difference of interest is
#    {glue:text}`rules_margin:.2f`.
# 2. Is the noise needed? PVF with σ chosen inside the training part, less rules without noise.
# 3. Which rule is best for each pool, size and outcome?
# 4. When does PVF help more?
# 5. Which σ would have been best, and what does it cost not to know it?
#
# Each data set gives cohorts: 80% of a cohort train, 20% validate, and everybody else is the
# population outside. The {term}`attainable share` of a rule is (chosen − mean of the pool) / (best − mean
# of the pool), measured outside: 0 is a candidate at random, 1 the best. The data set is the unit of
# all intervals. There are three pools of candidates: a hundred *trees* of depth 4 on 70% subsamples,
# *logistic* regressions on one to four columns, and a *mixed* pool of twenty settings of seven
# learners.

# %% [markdown]
# ## How small a difference can be told?
#
# How small a difference can the primary question tell? This was simulated from two pilot tables
# before the others were computed, for numbers of cohorts and for how much the true difference
# spreads between tables ({numref}`fig-rules-power`).

# %% mystnb={"figure": {"name": "fig-rules-power", "caption": "Smallest mean difference in attainable share whose interval leaves 0 out in 80% of simulated studies, over cohorts a table; one line for each standard deviation of the true difference between tables. Dashed: the smallest difference of interest."}, "image": {"alt": "Lines that fall as cohorts grow in number, one above the other as the spread between tables grows."}}
show.figure_of_power(power)

# %% [markdown]
# With {glue:text}`rules_cohorts:.0f` cohorts a table, 80% of studies tell a difference of
# {glue:text}`rules_told:.3f` where the tables do not differ, and of
# {glue:text}`rules_told_apart:.3f` where their true differences spread by
# {glue:text}`rules_spread:.1f`.

# %% [markdown]
# ## 1. Does PVF choose better than the hold-out score?
#
# {numref}`fig-rules-primary` shows the primary difference (trees, 120 people, IE@0.1) among all
# others. The others are secondary: they count as better or worse only if that holds after Holm's
# correction over all of them. "Equivalent" is said by the margin alone.

# %% [markdown]
# In the primary cell PVF is ahead in {glue:text}`rules_ahead:.0f` of
# {glue:text}`rules_tables:.0f` data sets, and the median difference is
# {glue:text}`rules_median:.3f`. The interval of 240 people and trees is wide because of one data set,
# monk-2, whose best tree is hardly better than the pool's mean: the share divides by almost nothing.

# %% table="PVF at σ = 0.3 less the hold-out score, in IE@0.1. The row of trees and 120 people is the primary answer, which needs no correction."
primary = show.comparisons(full, 1, outcome="IE@0.1")
styled(primary, "rules-primary", index=False)

# %% table="The same for the medical data sets alone."
medical = show.comparisons(full, 1, outcome="IE@0.1", group="medical")
styled(medical, "rules-medical", index=False)

# %% [markdown]
# ## 2. Is the noise needed?
#
# Cheaper rules use the same patients without perturbing them: ties decided by log loss, the first
# quartile over bootstrap resamples, out-of-bag rows, cross-validation. With the interval and Holm's
# correction over all comparisons of this question:

# %%
Markdown(show.noise_in_words(full))

# %% [markdown]
# {numref}`fig-rules-noise` shows these differences, and the table their numbers.

# %% mystnb={"figure": {"name": "fig-rules-noise", "caption": "PVF with σ chosen inside the training part less rules that need no noise: mean difference in attainable share of IE@0.1 over data sets, with 95% intervals. Grey: the smallest difference of interest."}, "image": {"alt": "One panel for each pool; rows are the rules compared with, each with a mark and interval for each size of cohort."}}
run.figure("fig-rules-noise")

# %% table="PVF with σ chosen inside the training part less rules without noise, in IE@0.1, with what each difference means by the margin and after the correction."
noise = show.comparisons(full, 2, outcome="IE@0.1")
styled(noise, "rules-noise", index=False)

# %% [markdown]
# ## 3. Which rule is best?
#
# {numref}`fig-rules-shares` shows every rule, and beside them two averages of candidates, which are
# no rules of choice.

# %% [markdown]
# {numref}`fig-rules-ranks` ranks the rules within each data set. A bar joins rules whose mean ranks
# lie within the critical difference of {cite:t}`demsar2006comparisons`: they are not told apart.

# %% mystnb={"figure": {"name": "fig-rules-ranks", "caption": "Critical-difference diagrams for IE@0.1: mean rank of each rule over data sets, 1 the best, by pool and size. Bars join groups that are not told apart at 5%."}, "image": {"alt": "One panel for each pool and size; rules from the best to the worst mean rank, with vertical bars that join groups of them."}}
run.figure("fig-rules-ranks")

# %% table="The best rule by mean share. It is the best of many, which flatters it; the table for the wall does without that."
styled(show.best_rules(full), "rules-best", index=False)

# %% [markdown]
# ## 4. When?
#
# The difference of question 1 against five facts of a data set and cohort, in one linear model for
# each pool and outcome; whole data sets are resampled for the intervals.

# %%
Markdown(show.when_in_words(full))

# %% [markdown]
# {numref}`fig-rules-when` shows all slopes.

# %% mystnb={"figure": {"name": "fig-rules-when", "caption": "How PVF less hold-out changes with one standard deviation of each fact of a data set and cohort, other facts equal, and the difference in the mean cell; 95% intervals from resampled data sets."}, "image": {"alt": "One panel for each of four outcomes; rows are five facts and the mean difference, with a mark and an interval for each pool."}}
run.figure("fig-rules-when")

# %% [markdown]
# ## 5. Which σ?
#
# For each data set the σ that suits it is chosen on one half of its cohorts and judged on the
# other, and the other way round.

# %%
Markdown(show.sigmas_in_words(full))

# %% [markdown]
# {numref}`fig-rules-sigma` shows what is lost against the σ that suits.

# %% mystnb={"figure": {"name": "fig-rules-sigma", "caption": "Loss in attainable share of each fixed σ, and of σ chosen inside the training part, against the σ that suits the data set; means over data sets with 95% intervals. Below 0: better than a σ that was chosen on the other half of the cohorts."}, "image": {"alt": "One panel for each pool and size; rows are three fixed levels of noise and the one chosen inside, with a mark and an interval for each outcome."}}
run.figure("fig-rules-sigma")

# %% [markdown]
# ## One data set, end to end
#
# The rules are objects of `pvf.selection`; `Evidence` fits each candidate once, for all of them, and
# a rule of your own is one class with one method, `scores`. Here are 120 people of the breast-cancer
# data, thirty trees, and what four rules' choices are worth for everybody else. The first number is
# how many of the thirty trees a rule cannot tell apart; chance picks one of them, so the others are
# means over these trees.

# %%
import pandas as pd
from pvf import intervention_efficiency_scorer
from pvf.selection import (
    BootstrapQuartile,
    Evidence,
    HoldOut,
    PerturbationValidation,
    RepeatedCV,
)
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split as split
from sklearn.tree import DecisionTreeClassifier as Tree

# %% table="Trees that four rules cannot tell apart, and what the chosen tree is worth outside."
X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_out, y, y_out = split(X, 1 - y, train_size=120, random_state=1)
X, X_val, y, y_val = split(X, y, test_size=0.2, stratify=y, random_state=1)
pool = [Tree(max_depth=4, max_features=3, random_state=i) for i in range(30)]
evidence = Evidence(pool, X, y, X_val, y_val)
score, found = intervention_efficiency_scorer(0.1), {}
worth = pd.Series([score(tree.fit(X, y), X_out, y_out) for tree in pool])
share = (worth - worth.mean()) / (worth.max() - worth.mean())
for kind in (HoldOut, BootstrapQuartile, RepeatedCV, PerturbationValidation):
    tied = kind(score).choose(evidence).tied
    found[kind.__name__] = [len(tied), worth[tied].mean(), share[tied].mean()]
pd.DataFrame(found, index=["tied", "IE@0.1 outside", "attainable share"]).T

# %% [markdown]
# **On tables that the study does not hold.** `python -m studies rules --data FOLDER` runs the same
# comparison on CSV files whose last column is the outcome, and says where each lies among the
# study's tables: inside, below or above the middle 95% of them. With as many cohorts as here
# (`--cohorts`), more than one in twenty outside would speak against this page; few cohorts scatter
# more, and lie outside more often by chance.
#
# ## The data
#
# One data set a source, because those cut from one source are not independent; the case is the
# rarer class.

# %% table="The data sets: who is a case, and what the columns are."
styled(show.data_rows(run.committed), "rules-data")

# %% [markdown]
# ## What differs from the protocol
#
# Every change to the registered protocol and every place where its words left a choice.

# %%
Markdown(show.deviations())

# %% [markdown]
# ## This run and the committed results
#
# The reduced run computes two of the data sets, with few cohorts and small pools. The full one took
# {glue:text}`rules_minutes:.0f` minutes.

# %%
Markdown(show.says(run))

# %% table="Where the committed results come from."
styled(provenance_table("rules", "rules_power").T, "rules-provenance")

# %% [markdown]
# ## Exercise
#
# Why do nearly all of thirty trees tie for the hold-out score? Change `max_depth` to 1 in the cell
# above: do more trees tie, or fewer?
#
# :::{dropdown} Answer
# There is room for two or three of 24 patients, and every tree flags more, so IE is its precision over
# the prevalence. Most trees flag cases only, which is the most that IE can be. Stumps err more, so
# fewer of them share it: 25 instead of 28. Noise gives nearly every tree a score of its own.
# :::
