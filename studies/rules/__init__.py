"""Which rule should choose the model: thirty-one data sets, three pools, fifteen rules."""

from studies.kit.study import Study
from studies.rules.power import POWER
from studies.rules.questions import estimate
from studies.rules.run import RulesSettings, blocks, one_block, summarise
from studies.rules.show import FIGURES

__all__ = ["POWER", "RULES_STUDY"]

RULES_STUDY = Study(
    name="rules",
    settings=RulesSettings,
    blocks=blocks,
    block=one_block,
    estimate=estimate,
    summarise=summarise,
    figures=FIGURES,
    sample={"tables": ("haberman",), "sizes": (60,), "pools": ("logistic",)},
    notes=(
        "What each rule's choice is worth: one row for each data table, size of cohort, pool, half "
        "of the cohorts and outcome; the attainable share (0 is one at random, 1 the best), "
        "or cases among a hundred places; means over cohorts, rounded to five decimals."
    ),
)
