"""The study of rules: what a cohort takes, and what share of that is fitting the candidates."""

from bench import Line, timed


def bench_cohorts():
    """Time one cohort of 120 people for each pool, and what of that its fits take."""
    from studies.data.tables import DataUnavailableError  # noqa: PLC0415  a bench may run alone
    from studies.rules import pools, run  # noqa: PLC0415

    try:
        table = pools.coded(run.load_table("wdbc", download=False))
    except DataUnavailableError:
        return []
    settings, lines = run.RulesSettings.full(), []
    for kind in (pools.TreePool, pools.LogisticPool, pools.MixedPool):
        name, spent, fit = kind.__name__.removesuffix("Pool").lower(), [], kind.fit

        def timed_fit(self, *arguments, fit=fit, spent=spent):
            seconds, fitted = timed(lambda: fit(self, *arguments))
            spent.append(seconds)
            return fitted

        pool = {"tree": "trees"}.get(name, name)
        run.cohort_rows(table, "wdbc", 120, pool, [0], run.RulesSettings(n_candidates=2))
        kind.fit = timed_fit
        try:
            seconds, _ = timed(
                lambda pool=pool: run.cohort_rows(table, "wdbc", 120, pool, [1], settings)
            )
        finally:
            kind.fit = fit
        lines += [
            Line(f"study of rules, one cohort of 120 people, {pool}, all rules", seconds, "s"),
            Line(f"    share that is fits ({len(spent)} of the pool)", sum(spent) / seconds, ""),
        ]
    return lines


BENCHES = [bench_cohorts]
