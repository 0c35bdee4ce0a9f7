"""The grid of the synthetic sweep: metrics, separabilities, perturbations, tie rules."""

CAPACITIES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Intervention capacities γ."""

SCORES = (*(f"IE@{capacity}" for capacity in CAPACITIES), "F1", "accuracy")
"""Scores that are computed, in the order of the kernel's arrays."""

METRICS = (*SCORES[:5], "F1/accuracy", "F1", "accuracy")
"""Metrics of the table: F1/accuracy is F1 for μ ≤ 2.5 and accuracy above, as in the paper."""

PAPER_METRICS = METRICS[:6]
"""The metrics that the paper's figures show."""

MUS = tuple(round(0.1 + 0.2 * i, 1) for i in range(15))
"""The paper's separabilities μ: 0.1, 0.3, … 2.9."""

GROUPS = {"low": 0.9, "moderate": 1.9, "high": 2.9}
"""The paper's groups of separability μ (Appendix C.2), by their largest μ."""

SIGMAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""The paper's standard deviations σ of the perturbation."""

METHODS = ("pvf", "traditional")

TIE_LABELS = {
    "first": "ties to the true pair",
    "last": "ties against the true pair",
    "even": "ties split evenly",
}
"""What each tie rule means for the true pair."""

TIE_BREAKS = tuple(TIE_LABELS)
