# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Intervention Efficiency: is the formula right?
#
# A clinic can call only some of its patients. Intervention Efficiency (IE) says how many times
# more cases it reaches when it follows a model than when it calls at random. {cite:t}`zhang2026pvf`
# give a closed formula for it, Proposition 3.1. Is it the IE of the policy that they describe?
#
# **Answer.** Wherever the formula has a value, yes: algebra, a list of every case, and a simulation
# agree. It has no value for a model that flags nobody rightly, which is common where few cases are
# validated; IE from counts has no such gap.

# %% tags=["parameters"]
n_repetitions = 2000  # the paper: no simulation; full: 200000
largest_population = 12  # full: 24
n_clinical = 2  # repetitions of the clinical experiments; full: 20
n_batches = 4  # times ten synthetic data sets of each kind; full: 50
seed = 20261127

# %%
from functools import partial

from myst_nb import glue

from book.tools.figures import keep_data
from studies.kit.show import show, text_table
from studies.pvf2026.efficiency import examples, proof
from studies.pvf2026.efficiency import run as efficiency
from studies.pvf2026.efficiency import show as efficiency_report

keep = partial(glue, display=False)
clinic, models = efficiency.CLINIC, efficiency.CLINIC_MODELS
simulated = efficiency.simulated_clinic(n_repetitions, seed)
keep_data("fig-ie-regimes", simulated)

# %% mystnb={"figure": {"caption": "Intervention Efficiency of three models with the same F1, in a clinic with 200 patients of whom 20 are cases. Thick: scarce regime, IE = p/π. Filled marker: the kink, where everybody flagged is reached. Thin: ample regime. Dashed: the upper limit min(1/γ, 1/π). Dotted: random choice. Open circles: the simulated policy, with intervals that all cover together with 99% probability (many are smaller than the circle).", "name": "fig-ie-regimes"}, "image": {"alt": "Intervention Efficiency over capacity from 1% to 100% on a logarithmic axis. Each model's line is flat and then falls towards 1; the cautious model is flat highest and falls first, the eager model is flat lowest and falls last, so the lines cross twice. Simulated values lie on the lines, and all lines stay between random choice at 1 and the upper limit."}}
efficiency_report.figure_of_regimes(simulated, models, **clinic)

# %% [markdown]
# ## Why
#
# While room is scarce, each call meets a case with probability $p$, the precision: IE stays at
# $p/\pi$, whatever the room ({numref}`fig-ie-regimes`). From the kink on, everybody flagged is reached,
# further calls go out at random, and IE falls towards 1. Proposition 3.1 is these two regimes in one.
#
# ## So what
#
# *For a ward:* models with the same F1 are worth different things at different capacities. With up to
# {glue:text}`ie_last_cautious:.0f` calls the cautious model reaches the most cases, with up to
# {glue:text}`ie_last_balanced:.0f` the balanced one, and from then on the eager one. *For a reviewer:*
# take precision, recall and prevalence from one set, and IE from counts where you can.
#
# ## In code
#
# The three models have the same F1. What are they worth with room for 5% and for 30% of the
# patients?

# %% tags=["essential"]
import pvf

n_pos, n_neg = 20, 180  # cases and others among the clinic's patients
flagged = {"cautious": (8, 4), "balanced": (10, 10), "eager": (15, 25)}
for name, (tp, fp) in flagged.items():
    few, many = (
        pvf.intervention_efficiency_counts(tp, fp, n_pos, n_neg, capacity)
        for capacity in (0.05, 0.3)
    )
    print(f"{name}: {few:.1f} times as good as chance, then {many:.1f}")

# %% [markdown]
# ## Verdicts
#
# Each claim is judged by all its checks at full scale. The closed form is held to the policy wherever
# it is defined; its 0/0 cases are a part of their own, since the proposition does not except them.

# %%
from studies.kit.claims import verdict_table

verdicts = verdict_table([f"IE-{number}" for number in range(1, 5)])
show(verdicts, "ie-verdicts")

# %% [markdown]
# ## What the paper leaves open, and what we decided
#
# Nobody has the condition
# : Chance reaches nobody either, so IE has no value. `pvf` refuses to make one up.
#
# Nobody is flagged, and $p$ is 0/0
# : All interventions are spent at random, so IE is 1.
#
# Somebody is flagged, but nobody rightly: $p = r = 0$
# : IE follows from the counts. It is below 1 unless everybody can be reached.
#
# Everybody is flagged and reached: $s = 1$, again 0/0
# : IE is 1, as it is for every model at $\gamma = 1$.
#
# The room $c = \gamma\beta$ is not a whole number
# : The last intervention takes place with the probability that is left over, so that both policies
#   reach $c$ people on average.
#
# Which of the flagged come first
# : The main text says "the top $c$", the proof draws them at random. A yes-or-no model has no order
#   among those it flags, so they are drawn at random, whatever their order in the table.
#
# Exactly $c$ people are flagged
# : Both regimes give the same.

# %% [markdown]
# (ie-by-rank)=
# ## By labels or by rank?
#
# The paper's proof needs people drawn at random among the flagged: only then is each call right with
# probability $p$. Its text speaks of "the top $c$". With yes-or-no labels there is no top. Where a
# model gives risks, a ward calls those with the highest first, and its efficiency is *by rank*:
# `pvf.intervention_efficiency_score(y, y_score=risk, capacity=0.1)`, people of equal risk sharing
# the last places. As soon as more are flagged than there is room for, the two part: by labels, IE
# stays at $p/\pi$ whatever the room; by rank it grows as the room shrinks.
#
# Does it matter for the choice of a model? The candidates of the clinical and of the synthetic
# experiment are chosen by either efficiency on the validation part, and judged on external people
# as a ward would work, by rank ({numref}`fig-ie-by-rank`).

# %% mystnb={"figure": {"name": "fig-ie-by-rank", "caption": "Efficiency by rank among external people of the candidate chosen by rank, less that of the candidate chosen by labels; ties are averaged; means over repetitions with 95% intervals."}, "image": {"alt": "Three panels, for 10, 30 and 50 places in 100, with a dot and an interval for breast cancer, cervical cancer and three synthetic problems, beside a line at zero."}}
from studies.pvf2026.efficiency import BY_RANK

ranked = BY_RANK.run(n_repetitions=n_clinical, n_batches=n_batches)
ranked.figure("fig-ie-by-rank")

# %% table="Choices by labels and by rank among the candidates of the papers, at a capacity of 10%."
shown = ranked.reference.query("capacity == 0.1")
columns = ["differs", "labels_rank", "rank_rank", "lead_rank", "lead_labels"]
shown = shown[shown["quantity"].isin(columns)]
show(
    text_table(
        shown,
        "problem",
        spec={"differs": ".0f"} | dict.fromkeys(columns[1:], ".2f"),
        names={
            "differs": "choices by labels that are none by rank (%)",
            "labels_rank": "IE by rank, chosen by labels",
            "rank_rank": "IE by rank, chosen by rank",
            "lead_rank": "lead of the choice by rank, in IE by rank",
            "lead_labels": "the same, in IE by labels",
        },
    ),
    "ie-by-rank",
)

# %%
told = shown.set_index(["problem", "quantity"])
for name, problem in {
    "clear": "synthetic, μ = 1.5",
    "cervical": "cervical-cancer",
}.items():
    for end in ("estimate", "low", "high"):
        keep(
            f"ie_rank_{name}_{end}",
            float(told.loc[(problem, "lead_rank"), end]),
        )
keep(
    "ie_rank_differs",
    float(told.loc[("cervical-cancer", "differs"), "estimate"]),
)

# %% [markdown]
# Judging by rank and choosing by rank are two things. On breast cancer both efficiencies choose the
# same trees. On cervical cancer {glue:text}`ie_rank_differs:.0f`% of the choices by labels are none by
# rank, and neither is better in the end: {glue:text}`ie_rank_cervical_estimate:.3f`
# ({glue:text}`ie_rank_cervical_low:.3f` to {glue:text}`ie_rank_cervical_high:.3f`). In synthetic data
# with a clear signal (μ = 1.5) choosing by rank *loses*, even where ranks are followed:
# {glue:text}`ie_rank_clear_estimate:.2f` ({glue:text}`ie_rank_clear_low:.2f` to
# {glue:text}`ie_rank_clear_high:.2f`) at ten places in a hundred. The reason is the size of the
# validation part: of some ten or twenty people a tenth is one or two places, so efficiency by rank
# sees one or two people, and efficiency by labels all that are flagged. So: report by rank what a
# ward will get, and choose by what uses more of the few people that there are.

# %% [markdown]
# ## The policy and its formula
#
# A population of $\beta$ people holds $\alpha$ positives. The model flags $F = TP + FP$ of them,
# and there is room for $c$ interventions. With prevalence $\pi = \alpha/\beta$ and capacity
# $\gamma = c/\beta$,
#
# $$
# \mathrm{IE}_\gamma = \frac{\text{positives that the model-guided policy is expected to reach}}
#                           {\text{positives that chance is expected to reach, } c\,\alpha/\beta}.
# $$ (eq-ie-definition)
#
# If $F > c$, then $c$ of the flagged are reached, each flag being right with probability $p$:
#
# $$
# \mathrm{IE}^A = \frac{c\,p}{c\,\alpha/\beta} = \frac{p}{\pi}.
# $$ (eq-ie-scarce)
#
# If $F \le c$, all flagged are reached, and $c - F$ of the others at random:
#
# $$
# \mathrm{IE}^B = \frac{TP + (c - F)\,\dfrac{\alpha - TP}{\beta - F}}{c\,\alpha/\beta}.
# $$ (eq-ie-ample)
#
# Proposition 3.1 puts the two into one, in precision $p$ and recall $r$:
#
# $$
# \mathrm{IE}_\gamma = \frac{s p + (\gamma - s)\,\dfrac{\pi - s p}{1 - s}}{\gamma\pi},
# \qquad s = \min\left(\gamma, \frac{\pi r}{p}\right).
# $$ (eq-ie-closed)

# %% [markdown]
# ## First check: algebra
#
# sympy starts from {eq}`eq-ie-scarce` and {eq}`eq-ie-ample` with counts as symbols, and is asked
# whether each equation of the paper's proof holds, that is, whether the difference of its sides
# reduces to zero.

# %% table="Each equation of the paper’s proof, and whether it holds."
identities = proof.symbolic_identities()
equations = efficiency_report.identity_table(identities)
keep("ie_equations", float(len(equations)))
keep("ie_equations_hold", float((equations["holds"] == "yes").sum()))
show(equations, "ie-algebra", index=False)

# %% [markdown]
# {glue:text}`ie_equations_hold:.0f` of {glue:text}`ie_equations:.0f` equations hold. The algebra
# shows that the regimes join at $F = c$ and that {eq}`eq-ie-closed` is the two of them together.
# It takes for granted that {eq}`eq-ie-scarce` and {eq}`eq-ie-ample` describe the policy. The next
# two checks don't.

# %% [markdown]
# ## Second check: every case, exactly
#
# In a small population we can list all sets of people that the policy may reach, each as likely
# as the next, and average the positives in them. No formula enters, and fractions keep it exact.
# Here are all confusion tables of up to seven people that hold a positive, for every number of
# interventions in half steps.

# %% table="Every set of people listed: cases of up to seven people, and how many agree with the formula."
run = efficiency.EFFICIENCY.run(
    n_repetitions=n_repetitions,
    largest_population=largest_population,
    seed=seed,
    n_jobs=1,
)
checks = run.table.drop(columns="same_side")
listed = checks[checks["check"] == "every set listed"]
show(listed, "ie-listed", index=False)

# %% [markdown]
# The last column counts the cases for which {eq}`eq-ie-closed` is 0/0; they are not among the
# cases. For larger populations the sets are too many to list, so we sum over the hypergeometric
# distribution of the number of positives among those reached, again in fractions. On the
# populations above the two ways of counting must agree.

# %% table="Every table of counts, summed exactly."
from fractions import Fraction

summed = proof.enumerate_efficiency(range(1, 8), room_step=Fraction(1, 2))
assert summed["captured"].equals(efficiency.every_set()["captured"])
show(checks[checks["check"] == "every table"], "ie-enumerated", index=False)

# %% [markdown]
# Three questions remain: does any table beat the limit $\min(1/\gamma, 1/\pi)$, how far are the
# library's floating-point numbers from the exact ones, and why is the formula sometimes 0/0?

# %% table="Why the formula is 0/0."
import numpy as np

enumerated = efficiency.every_table(largest_population)
limits = examples.best_possible(enumerated)
assert (limits["highest"] == limits["limit"]).all()

ours = pvf.intervention_efficiency_counts(
    *proof.counts_of(enumerated), proof.capacity_of(enumerated)
)
exact = enumerated["policy"].astype(float)
difference = float((np.abs(ours - exact) / np.maximum(exact, 1)).max())
assert difference < 1e-12

undefined = enumerated["undefined"][enumerated["undefined"] != ""]
reasons = undefined.value_counts().rename_axis("why 0/0")
show(reasons.reset_index(name="cases"), "ie-reasons", index=False)

# %%
keep("ie_cases", float(len(enumerated)))
keep("ie_population", float(largest_population))
keep("ie_undefined", float(100 * len(undefined) / len(enumerated)))
keep("ie_float_difference", difference)

# %% [markdown]
# Up to {glue:text}`ie_population:.0f` people there are {glue:text}`ie_cases:,.0f` combinations of
# a table and a capacity. The highest IE at each prevalence and capacity is exactly
# $\min(1/\gamma, 1/\pi)$, and `pvf` differs from the exact value by at most
# {glue:text}`ie_float_difference:.0e`. {eq}`eq-ie-closed` has no value in
# {glue:text}`ie_undefined:.0f`% of the combinations. That is a share of possible tables, not of
# those that occur in practice. The section on 0/0 comes back to it.

# %% [markdown]
# ## Third check: acting it out
#
# Take a clinic with 200 patients, of whom 20 will be readmitted. Three models have the same F1
# and so look equally good. They differ in how many patients they flag.

# %% table="Three models with the same F1 in a clinic with 200 patients, 20 of them cases."
table = efficiency_report.model_table(models, **clinic)
show(table, "ie-models", index=False).format(precision=2)

# %% [markdown]
# To these we add a model that flags nobody and one that flags 20 patients in vain. In each
# repetition the flagged are shuffled, then the others, and people are reached in that order;
# chance shuffles everybody. IE is the ratio of the two means, with Fieller's interval. The
# intervals are so wide that all of them cover together with 99% probability (Bonferroni).

# %% table="The policy acted out: pairs of a model and a capacity, and how far they lie from the formula."
simulation = checks[checks["check"] == "simulation"]
show(simulation, "ie-simulated", index=False)

# %% [markdown]
# A check that could not fail would be worth nothing. So we hold two wrong formulas against the
# same simulation, in the ample regime: $p/\pi$ throughout, and {eq}`eq-ie-ample` without its
# second term.

# %%
numbers = efficiency_report.simulation_numbers(simulated, **clinic)
for name, value in numbers.items():
    keep(f"ie_simulation_{name}", value)

# %% [markdown]
# In {glue:text}`ie_simulation_n:.0f` pairs of a model and a capacity, the simulation is at most
# {glue:text}`ie_simulation_largest:.1f` standard errors from the formula; more than
# {glue:text}`ie_simulation_critical:.1f` would be a disagreement. The wrong formulas miss by up
# to {glue:text}`ie_simulation_no_regimes:.0f` and {glue:text}`ie_simulation_no_second_stage:.0f`.

# %% [markdown]
# ## Which model is best with how many calls?
#
# For each number of calls from one to all 200, in exact arithmetic:

# %% table="The best model by the number of calls."
best = examples.best_model_by_room(models, **clinic)
last = best.set_index("best")["last"]
keep("ie_last_cautious", float(last["cautious"]))
keep("ie_last_balanced", float(last["balanced"]))
show(best, "ie-best", index=False)

# %% [markdown]
# ## Where precision and recall say nothing
#
# If none of the flagged is a case, then $p = r = 0$, and $\pi r/p$ in {eq}`eq-ie-closed` is 0/0.
# So it is for a model that flags nobody; scikit-learn's `zero_division=0` makes its precision 0
# as well. The two are not the same. With nobody flagged, all calls go out at random: IE is 1.
# Flagging a share $s$ of the patients in vain uses up some of the calls:
#
# $$
# \mathrm{IE}_\gamma = \frac{\max(\gamma - s, 0)}{\gamma\,(1 - s)} < 1
# \qquad (0 < s < 1,\ \gamma < 1).
# $$ (eq-ie-in-vain)
#
# The table shows what becomes of three such models if the formula is mended by hand, once with
# $s = 0$ and once with $s = \gamma$, beside the IE of the enumerated policy.

# %% table="Three models with p = r = 0: the formula mended in two ways, and IE of the policy."
zero = examples.zero_cases([0, 20, 60], [0.1, 0.3, 0.5], **clinic)
keep_data("fig-ie-zero", zero)
show(zero, "ie-zero", index=False).format(precision=2)

# %% [markdown]
# One way of mending makes every such model as good as chance. The other makes it worthless, even
# the one that flags nobody. {numref}`fig-ie-zero` shows what the counts give instead.

# %% mystnb={"figure": {"caption": "Three models with p = r = 0 among 200 patients. From counts, each has its own IE; the formula in p and r cannot tell them apart. Lines: counts. Circles: the policy, enumerated exactly.", "name": "fig-ie-zero"}, "image": {"alt": "Intervention Efficiency over capacity from 0 to 100%. Nobody flagged: a level line at 1. Twenty flagged in vain: 0 up to a capacity of 10%, then a steep rise that levels off towards 1. Sixty flagged in vain: 0 up to 30%, then a rise to 1 at full capacity. Enumerated values lie on the lines."}}
efficiency_report.figure_of_zero_cases(zero, **clinic)

# %% [markdown]
# This is no rarity where few positives are validated. Take a model that finds half of all cases,
# and a validation set with three.

# %%
from scipy import stats

keep("ie_all_missed", float(100 * stats.binom.pmf(0, n=3, p=0.5)))

# %% [markdown]
# It misses all three in {glue:text}`ie_all_missed:.1f`% of such sets. From precision and recall
# `pvf.intervention_efficiency` then returns NaN with a warning; from counts
# `pvf.intervention_efficiency_counts` returns the right value. Everything else in `pvf` uses
# counts.

# %% [markdown]
# ## Precision, recall and prevalence from different sets
#
# The paper asks to take $p$, $r$ and $\pi$ from one set, even where a better estimate of $\pi$ is
# at hand. Two examples show what happens otherwise. In the first, the eager model was studied in
# as many cases as controls, and the clinic's prevalence is put into the formula.

# %% table="IE of the eager model, with precision and prevalence from different sets."
study = examples.enriched_study(
    *models["eager"], **clinic, n_cases=180, n_controls=180, capacity=0.1
)
keep("ie_mixed", study["mixed"])
keep("ie_clinic", study["clinic"])
import pandas as pd

named = pd.Series(study).rename(efficiency_report.SOURCES).rename_axis("from")
show(named.reset_index(name="IE"), "ie-study", index=False).format(precision=2)

# %% [markdown]
# With mixed sources the model seems {glue:text}`ie_mixed:.2f` times as good as chance; it is
# {glue:text}`ie_clinic:.2f` times as good. Precision belongs to the prevalence at which it was
# measured. Recall and the false-positive rate carry over if the patients are of the same kind, so
# weighting the study's counts gives the right answer.
#
# In the second example, validation sets are drawn at random from the clinic's own population,
# where mixing looks harmless. We compare the set's own $\pi$ with the true one, for the three
# models and for one that flags everybody and is worth exactly 1.

# %%
samples, errors = efficiency.random_sets(n_repetitions, seed)
keep_data("fig-ie-same-set", errors)

# %% [markdown]
# {numref}`fig-ie-same-set` shows how the estimates spread for two of the models.

# %% mystnb={"figure": {"caption": "IE at γ = 10% on random validation sets, with π from the set itself and with the true π of the population. Markers: mean. Bars: from the 5% to the 95% quantile of the sets on which p and r are defined and not 0. Dashed: IE in the population.", "name": "fig-ie-same-set"}, "image": {"alt": "Two panels of estimated Intervention Efficiency over the size of the validation set, 20 to 500. For the model that flags everybody, estimates with the set's own prevalence are exactly 1 at every size, while those with the population's prevalence spread widely around 1 and narrow with size. For the eager model both spread about as widely, around the true value."}}
efficiency_report.figure_of_samples(errors, ["flags everybody", "eager"])

# %% [markdown]
# The set's own $\pi$ keeps a worthless model at 1, whatever the set. With another $\pi$ that
# model scores the ratio of the two prevalences, which is luck. Whether estimates of real models
# get closer to the truth is another matter. The table gives the root mean squared errors on the
# same sets, and which of the two is clearly smaller (the 95% interval of the paired difference in
# squared error leaves out 0).

# %% table="Root mean squared error of IE with the set’s own prevalence and with the population’s."
real = errors[errors["model"] != "flags everybody"]
for name, value in efficiency_report.tally_of_errors(real).items():
    keep(f"ie_errors_{name}", value)
columns = ["model", "n_samples", "same_set_error", "mixed_error", "closer"]
show(real[columns], "ie-errors", index=False).format(precision=2)

# %% [markdown]
# Of {glue:text}`ie_errors_n:.0f` comparisons, {glue:text}`ie_errors_set:.0f` go to the set's own
# $\pi$, {glue:text}`ie_errors_population:.0f` to the population's, and
# {glue:text}`ie_errors_neither:.0f` are too close to call. The error with the population's $\pi$
# is {glue:text}`ie_errors_ratio_low:.2f` to {glue:text}`ie_errors_ratio_high:.2f` times the
# other. So there are two good reasons for the paper's rule: the fixed point at 1, and sets whose
# prevalence differs by design. That it makes IE more accurate on small random samples is not one
# of them: there, either can be closer.

# %% [markdown]
# ## This run, check by check
#
# The run can be made larger, with more repetitions of the simulation and larger populations to list.

# %%
from IPython.display import Markdown

Markdown(f"{run.says()}\n\nBy labels or by rank: {ranked.says()}")

# %% table="Cases that agree, check by check."
show(text_table(run.estimates, ["claim", "check"], spec=".0f"), "ie-checks")

# %% [markdown]
# ## Exercise
#
# A model flags all 200 patients. What is its IE at any capacity, by the policy and by the formula?
#
# :::{dropdown} Answer
# Its precision is the prevalence, so in the scarce regime IE is $p/\pi = 1$: calling from a list of
# everybody is calling at random. Only at $\gamma = 1$ is the formula 0/0, since then $s = 1$; the
# counts still give 1.
# :::
