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
)
