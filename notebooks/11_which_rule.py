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
# **{glue:text}`rules_answer`.** With the papers' trees, cohorts of 120 people and treatment for a
# tenth of them, PVF at σ = 0.3 less the hold-out score is {glue:text}`rules_difference` of the
# attainable share of Intervention Efficiency, over {glue:text}`rules_tables:.0f` data sets with a
# 95% interval; by the registered rule, with {glue:text}`rules_margin:.2f` the smallest difference
# of interest, this is *{glue:text}`rules_verdict`*.
#
# {cite:t}`zhang2026pvf` compare one rule with one other on two data sets. A clinic needs to know
# more: over many data sets, which rule chooses good models, does noise have to be in it, and when?
# This chapter is the book's own study. Its protocol was registered before anything was computed:
#
# 1. *Primary*: PVF (σ = 0.3) less hold-out with shared ties, trees, 120 people, Intervention
#    Efficiency (IE) at capacity γ = 0.1.
# 2. Is the noise needed? PVF with σ chosen inside the training part, less rules without noise.
# 3. Which rule is best for each pool, size and outcome?
# 4. When does PVF help more?
# 5. Which σ would have been best, and what does it cost not to know it?
#
# **What is measured.** Each data set gives cohorts: 80% of a cohort train, 20% validate, and
# everybody else is the population outside. The *attainable share* of a rule is (chosen − mean of
# the pool) / (best − mean of the pool), measured outside: 0 is a candidate at random, 1 the best.
# The data set is the unit of all intervals. There are three pools of candidates: a hundred *trees*
# of depth 4 on 70% subsamples, *logistic* regressions on one to four columns, and a *mixed* pool of
# twenty settings of seven learners.
#
# **Run time.** Under a minute on two cores for the reduced run. The full one took
# {glue:text}`rules_minutes:.0f` minutes.

# %% [markdown]
# The reduced run computes two of the data sets, with few cohorts and small pools.

# %% tags=["parameters"]
tables = ["haberman", "wdbc"]  # full: all data sets
sizes = [60, 120]  # people in a cohort; full: [60, 120, 240]
n_primary = 2  # cohorts for the primary question; full: 40
n_cohorts = 2  # cohorts elsewhere; full: 14
n_cohorts_mixed = 2  # cohorts with the mixed pool; full: 6
n_candidates = 20  # candidates in a pool; full: 100
seed = 20261128

# %% [markdown]
# ## Power first
#
# How small a difference can the primary question tell? This was simulated from two pilot tables
# before the others were computed, for numbers of cohorts and for how much the true difference
# spreads between tables ({numref}`fig-rules-power`).

# %% mystnb={"figure": {"name": "fig-rules-power", "caption": "Smallest mean difference in attainable share whose interval leaves 0 out in 80% of simulated studies, over cohorts a table; one line for each standard deviation of the true difference between tables. Dashed: the smallest difference of interest."}, "image": {"alt": "Lines that fall as cohorts grow in number, one above the other as the spread between tables grows."}}
from studies.rules import POWER, show

power = POWER.estimate(POWER.committed()[0])
show.figure_of_power(power)

# %% [markdown]
# With {glue:text}`rules_cohorts:.0f` cohorts a table, 80% of studies tell a difference of
# {glue:text}`rules_told:.3f` where the tables do not differ, and of
# {glue:text}`rules_told_apart:.3f` where their true differences spread by
# {glue:text}`rules_spread:.1f`.
#
# ## The comparison

# %%
from IPython.display import Markdown
from myst_nb import glue

from book.tools.figures import keep_data
from book.tools.markdown import markdown_table
from studies.kit.show import provenance_table
from studies.kit.show import show as styled
from studies.rules import RULES_STUDY

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
Markdown(show.says(run))

# %% [markdown]
# Where the committed results come from:

# %%
styled(provenance_table("rules", "rules_power").T, "rules-provenance")

# %% [markdown]
# ## 1. Does PVF choose better than the hold-out score?
#
# {numref}`fig-rules-primary` shows the primary difference (trees, 120 people, IE@0.1) among all
# others. The others are secondary: they count as better or worse only if that holds after Holm's
# correction over all of them. "Equivalent" is said by the margin alone.

# %% mystnb={"figure": {"name": "fig-rules-primary", "caption": "PVF at σ = 0.3 less the hold-out score with shared ties: mean difference in attainable share over data sets, with 95% intervals, for each pool, outcome and size. Grey: the smallest difference of interest. Open marks: the run on this page."}, "image": {"alt": "One panel for each pool of candidates; in each, rows of outcomes with one mark and interval for each size of cohort, around a grey band at zero."}}
run.figure("fig-rules-primary")

# %% [markdown]
# In the primary cell PVF is ahead in {glue:text}`rules_ahead:.0f` of
# {glue:text}`rules_tables:.0f` data sets, and the median difference is
# {glue:text}`rules_median:.3f`. The interval of 240 people and trees is wide because of one data set,
# monk-2, whose best tree is hardly better than the pool's mean: the share divides by almost nothing.
#
# The numbers for IE@0.1; the one of trees and 120 people is the primary answer, which needs no
# correction.

# %%
primary = show.comparisons(full, 1, outcome="IE@0.1")
styled(primary, "rules-primary", index=False)

# %% [markdown]
# The medical data sets by themselves, in the same cells:

# %%
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

# %% [markdown]
# The same in numbers, with what each means by the margin and after the correction.

# %%
noise = show.comparisons(full, 2, outcome="IE@0.1")
styled(noise, "rules-noise", index=False)

# %% [markdown]
# ## 3. Which rule is best?
#
# {numref}`fig-rules-shares` shows every rule, and beside them two averages of candidates, which are
# no rules of choice.

# %% mystnb={"figure": {"name": "fig-rules-shares", "caption": "Attainable share of IE@0.1 of every rule, mean over data sets with 95% intervals, by pool and size; the two averages of candidates are no rules of choice. Open marks: the run on this page."}, "image": {"alt": "One panel for each pool and size; rows are rules, with a mark and an interval between zero, one at random, and one, the best candidate."}}
run.figure("fig-rules-shares")

# %% [markdown]
# {numref}`fig-rules-ranks` ranks the rules within each data set. A bar joins rules whose mean ranks
# lie within the critical difference of {cite:t}`demsar2006comparisons`: they are not told apart.

# %% mystnb={"figure": {"name": "fig-rules-ranks", "caption": "Critical-difference diagrams for IE@0.1: mean rank of each rule over data sets, 1 the best, by pool and size. Bars join groups that are not told apart at 5%."}, "image": {"alt": "One panel for each pool and size; rules from the best to the worst mean rank, with vertical bars that join groups of them."}}
run.figure("fig-rules-ranks")

# %% [markdown]
# The best rule by mean share, for each pool, size and outcome. It is the best of many, which
# flatters it; the table for practitioners below does without that.

# %%
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
# (rules-wall)=
# ## For the wall
#
# With about so many validated cases and such a pool, choose by this rule for IE at γ = 0.1. What to
# expect is judged on data sets that had no say: for each, the rule is chosen that is best on all
# others. The last column says how often that is the rule named. [](../wall.md) has the table as a
# sheet to print, for γ = 0.1, 0.3 and 0.5.

# %% mystnb={"markdown_format": "myst"}
Markdown(markdown_table(show.wall_table(full).to_dict("records")))

# %% [markdown]
# Where the interval of a rule's lead over the hold-out score holds 0, these data sets don't show
# that it is better than the simpler rule. The intervals speak of new data sets like these.
#
# ## One data set, end to end
#
# The rules are objects of `pvf.selection`; `Evidence` fits each candidate once, for all of them, and
# a rule of your own is one class with one method, `scores`. Here are 120 people of the
# breast-cancer data, thirty trees, and what four rules' choices are worth for everybody else.

# %%
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split as split
from sklearn.tree import DecisionTreeClassifier as Tree

from pvf import intervention_efficiency_scorer
from pvf.selection import (
    BootstrapQuartile,
    Evidence,
    HoldOut,
    PerturbationValidation,
    RepeatedCV,
)

# %% [markdown]
# One is malignant here. The first number is how many of the thirty trees a rule cannot tell apart;
# chance picks one of them, so the others are means over these trees.

# %%
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

# %%
styled(show.data_rows(run.committed), "rules-data")

# %% [markdown]
# ## What differs from the protocol
#
# Every change to the registered protocol and every place where its words left a choice.

# %%
Markdown(show.deviations())

# %% [markdown]
# **What a reader may take away.** The first two sentences of this page, the table for the wall, and
# the difference between them: the first is one question, asked before anything was known, and the
# second the best of many rules, judged where it had no say. Both are about public data sets, medical
# and other; cohorts and the people outside come from one source, so nothing here speaks of patients
# of another hospital.
