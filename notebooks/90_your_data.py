# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Your own data: which model?
#
# You have a table of patients, an outcome with two values, and room to treat a share of them. Which of
# many small models should say whom? This page fits a pool of them, lets three rules select one, and
# says in plain words what the choice is worth.
#
# **What you are reading here.** Without a file of yours the page reads a *simulated* cohort: nobody
# in it exists. It is written as the kind of CSV that people have, with gaps, codes, dates and
# remarks, and since the chance of death of each of its patients is known, one table can say what
# the selected models are worth in truth.

# %% tags=["parameters"]
csv = ""  # your file; empty for the simulated cohort
target = "died"  # column of the outcome
capacity = 0.1  # share of the patients that can be treated
positive = ""  # the outcome's value that is a case, if that is not obvious
kinds = []  # overrules the guesses
drop = []  # columns to leave out
pool = "pairs,trees"  # or "package.module:callable", for candidates of your own
sigma = 0.1  # noise of PVF, in standard deviations
n_splits = 5  # of the data; full: 20
seed = 0

# %% [markdown]
# ## In code
#
# Make the same report of your own file, in a shell,
#
# ```
# pvf select my.csv --target died --capacity 0.1 --report report.html
# ```
#
# or, from the repository's folder, as this page:
#
# ```
# papermill notebooks/90_your_data.ipynb report.ipynb \
#   -p csv my.csv -p target died -p capacity 0.1
# ```
#
# In Python it is one reading and one selection, which takes half a minute on one core. What is a case,
# what each column is, and what to leave out can be said, and is guessed otherwise.

# %% tags=["essential"]
import tempfile
from pathlib import Path

from pvf.select import example as simulated_cohort
from pvf.select.choose import select
from pvf.select.read import load_own_data

folder = tempfile.TemporaryDirectory()
path = csv or simulated_cohort.write_cohort(
    Path(folder.name) / "simulated_cohort.csv"
)
case = None if positive == "" else positive  # 0 and no are values

data = load_own_data(path, target, positive=case, kinds=kinds, drop=drop)
of_run = {"n_splits": n_splits, "seed": seed, "n_jobs": -1}
selection = select(data, capacity=capacity, pool=pool, sigma=sigma, **of_run)

# %% [markdown]
# ## So what
#
# Which model leads is the choice, over all splits, of the rule that is followed. Whether any should
# be used is read off patients without a part in the choice, and off how often the splits agree. Every
# word below is computed; {numref}`fig-own-places` shows the cases that the places reach.

# %%
from IPython.display import Markdown
from pvf.select import report as own_report
from pvf.select.columns import kinds_frame

from book.tools.figures import keep_data

# %% mystnb={"figure": {"name": "fig-own-places", "caption": "Cases that the places reach, on patients who had no part in the choice, with 95% intervals."}, "image": {"alt": "Dots with bars for the places given by score, by label, by one column alone, by chance, and by knowing the outcome."}}
own_report.places_figure(selection).picture

# %%
Markdown(own_report.recommendation_text(selection))

# %% [markdown]
# ## What each column is taken for
#
# The guess can be overruled by `kinds`, a list such as `["ward=nominal", "pain=ordinal:none<some<much"]`
# (papermill takes it by `-y 'kinds: [ward=nominal]'`); a column that should not be used goes into
# `drop`, and `csv` is relative to the folder in which papermill is started.
#
# Missing values are imputed by what the training part knows. Identifiers, dates, free text and columns
# that never change are left out. A copy of the outcome, an outcome with one value or more than two,
# fewer than ten cases, unequal rows, or a number that could be read in two ways end the run with one
# line that names the column or line of the file and says what to do.

# %% table="What each column is taken for."
kinds_frame(data.columns).style.set_uuid("own-columns")

# %% [markdown]
# What else was done on reading, if anything:

# %%
Markdown(own_report.notes_text(data))

# %% [markdown]
# ## Many splits of three parts
#
# In each split models are fitted on the first part, imputation included; selected by the second;
# and judged on the third, in which nobody had a part in the choice.

# %% table="People and cases in each part of the data."
own_report.parts_table(selection).style.set_uuid("own-parts")

# %% [markdown]
# ## What the rules select
#
# The *traditional* rule takes the candidate with the largest Intervention Efficiency on the
# validation parts. PVF perturbs these many times, numbers by noise, categories by flips and
# shifts, and takes the candidate whose score holds up. PMV flips training labels and takes the
# candidate whose training accuracy falls fastest; its scores are slopes and no efficiencies. The
# recommendation follows the one that [](rules-wall) advises for such a pool and so many cases.

# %% table="What each rule selects."
own_report.choices_table(selection).style.set_uuid("own-choices")

# %% [markdown]
# The leading candidates under PVF, each with its score and, in brackets, its rank under each rule:

# %% table="The leading candidates under PVF: score and, in brackets, rank under each rule."
own_report.leaders_table(selection).style.set_uuid("own-leaders")

# %% [markdown]
# The book offers what the figures on this page show as CSV.

# %%
keep_data("fig-own-scores", selection.validation.to_frame())
keep_data("fig-own-places", selection.judged)
keep_data("fig-own-calibration", selection.calibration)
keep_data("fig-own-multiplicity", selection.multiplicity)

# %% [markdown]
# {numref}`fig-own-scores` shows how far the perturbation moves the scores.

# %% mystnb={"figure": {"name": "fig-own-scores", "caption": "Scores of the leading candidates on the perturbed validation sets: box, middle half; whiskers, extremes; diamond, aggregated score; cross, unperturbed score."}, "image": {"alt": "Box plots of the scores of the twelve leading candidates, the one that PVF selects on top."}}
own_report.scores_figure(selection).picture

# %% [markdown]
# ## How much noise?
#
# PVF's one free choice is the noise level σ, in standard deviations of each numeric column. If its
# choice changes with σ, that is a caveat.

# %% table="What PVF selects at other levels of noise."
own_report.sigma_table(selection).style.set_uuid("own-sigma")

# %% [markdown]
# ## What the choices are worth
#
# On the test parts, with 95% intervals: cases reached by the places, and Intervention Efficiency
# (IE), of which 1 is chance.

# %% table="What the selected models are worth on the test parts, with 95% intervals."
own_report.judged_table(selection).style.set_uuid("own-judged")

# %% [markdown]
# The differences between the rules, on the same patients and the same resamples:

# %% table="Differences between the rules, on the same patients and resamples."
own_report.differences_table(selection).style.set_uuid("own-differences")

# %% [markdown]
# Whether the recommended model's score can be read as a risk shows in {numref}`fig-own-calibration`,
# and in the numbers below it:

# %% mystnb={"figure": {"name": "fig-own-calibration", "caption": "Share of cases over the mean score of the recommended model, by fifths of the score, with 95% intervals. Dashed: where a score would be a risk, if all scores lie between 0 and 1."}, "image": {"alt": "Five dots with bars, joined by a line: share of cases over mean score."}}
own_report.calibration_figure(selection).picture

# %% table="Score of the recommended model by fifths, beside the share of cases."
own_report.calibration_table(selection).style.set_uuid("own-calibration")

# %% [markdown]
# ## For whom equally good models disagree
#
# Candidates whose log-loss on the validation parts is close to the best form the Rashomon set.
# Rashomon Capacity counts effective classes for each patient: 1 where all of these models give
# the same score, 2 where they contradict each other. {numref}`fig-own-multiplicity` has its
# distribution.

# %% mystnb={"figure": {"name": "fig-own-multiplicity", "caption": "Rashomon Capacity of the good candidates for the patients: share of patients with at most this many effective classes."}, "image": {"alt": "A curve that rises from 0 to 1 over Rashomon Capacity, which begins at 1."}}
own_report.multiplicity_figure(selection).picture

# %% [markdown]
# The patients with the largest capacity, by line of the file:

# %% table="The patients about whom equally good models disagree most."
own_report.contested_table(selection).style.set_uuid("own-contested")

# %% [markdown]
# ## Model card
#
# The card of the recommended model, to be kept with it:

# %%
own_report.card(selection)

# %% [markdown]
# ## What the truth is
#
# For the simulated cohort: each choice among 20,000 new patients of the same world, beside the
# candidate that is best there.

# %% table="Each choice among 20,000 new patients of the simulated world, beside the best candidate."
truth = simulated_cohort.readable_worth(selection, folder.name, csv=csv)
truth.style.set_uuid("own-truth")

# %%
folder.cleanup()

# %% [markdown]
# ## For a report
#
# What the selection knows of each item of TRIPOD+AI and PROBAST+AI, and what is left for people:

# %%
own_report.reporting_table(selection).style.set_uuid("own-reporting")

# %% [markdown]
# What reproduces this page:

# %% table="What reproduces this page."
own_report.settings_table(selection).style.set_uuid("own-settings")
