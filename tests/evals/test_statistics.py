"""Statistics: equal to scipy and statsmodels where those have the same, and right at the edges."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from advisor_harness.evals import statistics
from advisor_harness.evals.statistics import (
    clopper_pearson,
    clustered_se,
    holm,
    mcnemar_exact,
    mcnemar_power,
    minimum_detectable_effect,
    noninferiority,
    paired_bootstrap,
    paired_difference_bound,
    sign_flip,
    wilson,
)
from advisor_harness.evals.statistics.distributions import (
    beta_quantile,
    binomial_mass,
    regularized_beta,
    student_quantile,
)

numpy = pytest.importorskip('numpy')
scipy_stats = pytest.importorskip('scipy.stats')
scipy_optimize = pytest.importorskip('scipy.optimize')
scipy_special = pytest.importorskip('scipy.special')
multipletests = pytest.importorskip('statsmodels.stats.multitest').multipletests
proportion_confint = pytest.importorskip('statsmodels.stats.proportion').proportion_confint
regression = pytest.importorskip('statsmodels.regression.linear_model')
contingency_tables = pytest.importorskip('statsmodels.stats.contingency_tables')

GRID = [(k, n) for n in (1, 2, 3, 5, 10, 17, 30, 50, 100, 300, 2000) for k in sorted({0, 1, n // 3, n // 2, n - 1, n})]
CONFIDENCES = (0.5, 0.9, 0.95, 0.99)
few_scores = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=9)


def close(actual: object, expected: object) -> bool:
    return actual == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize('harmful', [0, 1, 2, 5, 9, 30, 63, 200, 1500])
@pytest.mark.parametrize('helpful', [0, 1, 4, 11, 63, 400])
def test_mcnemar_is_the_binomial_test(harmful: int, helpful: int) -> None:
    """The p-value is the exact one-sided binomial test of the pairs that changed, however many."""
    expected = 1.0
    if harmful + helpful:
        expected = scipy_stats.binomtest(harmful, harmful + helpful, alternative='greater').pvalue
    assert close(mcnemar_exact(harmful, helpful), expected)


@given(st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=60, deadline=None)
def test_mcnemar_of_statsmodels(harmful: int, helpful: int) -> None:
    """Doubled and cut at 1, the smaller of both sides is the two-sided exact test of statsmodels."""
    both = min(1.0, 2 * min(mcnemar_exact(harmful, helpful), mcnemar_exact(helpful, harmful)))
    table = [[0, harmful], [helpful, 0]]
    expected = contingency_tables.mcnemar(table, exact=True).pvalue if harmful + helpful else 1.0
    assert close(both, expected)


def test_fewest_harmful_pairs_that_are_significant() -> None:
    """It takes 5 harmful pairs without a helpful one; 7 allow one helpful and 10 allow three."""
    fewest = {helpful: next(c for c in range(50) if mcnemar_exact(c, helpful) <= 0.05) for helpful in range(4)}
    assert fewest == {0: 5, 1: 7, 2: 9, 3: 10}
    assert mcnemar_exact(5, 0) == 1 / 32
    assert mcnemar_exact(0, 0) == 1.0


@pytest.mark.parametrize(('k', 'n'), GRID)
@pytest.mark.parametrize('confidence', CONFIDENCES)
def test_clopper_pearson(k: int, n: int, confidence: float) -> None:
    """The exact interval is scipy's and statsmodels'."""
    actual = clopper_pearson(k, n, confidence=confidence)
    expected = scipy_stats.binomtest(k, n).proportion_ci(confidence, method='exact')
    assert close(actual, (expected.low, expected.high))
    low, high = proportion_confint(k, n, alpha=1 - confidence, method='beta')
    assert close(actual, (0.0 if k == 0 else low, 1.0 if k == n else high))


@pytest.mark.parametrize(('k', 'n'), GRID)
@pytest.mark.parametrize('confidence', CONFIDENCES)
def test_wilson(k: int, n: int, confidence: float) -> None:
    """The score interval is scipy's and statsmodels'."""
    actual = wilson(k, n, confidence=confidence)
    expected = scipy_stats.binomtest(k, n).proportion_ci(confidence, method='wilson')
    assert close(actual, (expected.low, expected.high))
    assert close(actual, proportion_confint(k, n, alpha=1 - confidence, method='wilson'))


@given(st.integers(1, 400), st.data(), st.floats(0.01, 0.999))
@settings(max_examples=60, deadline=None)
def test_intervals_hold_their_share(n: int, data: st.DataObject, confidence: float) -> None:
    """Both intervals equal the oracles' everywhere, contain the share, and the exact one is mirrored."""
    k = data.draw(st.integers(0, n))
    exact, score = clopper_pearson(k, n, confidence=confidence), wilson(k, n, confidence=confidence)
    expected = scipy_stats.binomtest(k, n).proportion_ci(confidence, method='exact')
    assert close(exact, (expected.low, expected.high))
    assert 0 <= exact[0] <= k / n <= exact[1] <= 1
    assert score[0] - 1e-12 <= k / n <= score[1] + 1e-12
    assert close(tuple(1 - end for end in reversed(clopper_pearson(n - k, n, confidence=confidence))), exact)


@pytest.mark.parametrize(
    ('n', 'bound'), [(5, 0.549), (10, 0.741), (20, 0.861), (30, 0.905), (50, 0.942), (100, 0.970), (300, 0.990)]
)
def test_what_all_passing_shows(n: int, bound: float) -> None:
    """The one-sided 95 % bound of a suite where every case passed."""
    assert round(clopper_pearson(n, n, confidence=0.9)[0], 3) == bound


def test_what_no_harm_shows() -> None:
    """None of 30 still allows a share of 9.5 %."""
    assert round(clopper_pearson(0, 30, confidence=0.9)[1], 3) == 0.095


@pytest.mark.parametrize(
    ('churn', 'expected'),
    [
        (0.0, [59, 32, 22, 14, 7, 3.5, 2]),
        (0.1, [59, 32, 22, 14, 8.5, 6, 4.5]),
        (0.2, [59, 32, 22, 17, 12, 8.5, 6]),
    ],
)
def test_smallest_drops_that_are_seen(churn: float, expected: list[float]) -> None:
    """The known table, in percentage points, rounded up to whole points below 100 cases and to half points above."""
    found: list[float] = []
    for n in (10, 20, 30, 50, 100, 200, 400):
        effect = minimum_detectable_effect(n, churn=churn, alpha=0.05, power=0.8)
        assert effect is not None
        step = 1 if n < 100 else 0.5
        found.append(math.ceil(100 * effect / step) * step)
    assert found == expected


def enumerated_power(n: int, effect: float, churn: float, alpha: float, exceeding: float) -> float:
    """The power by going through every outcome."""
    changing = max(churn, effect)
    harm, help_ = (changing + effect) / 2, (changing - effect) / 2
    total = 0.0
    for harmful in range(n + 1):
        for helpful in range(n + 1 - harmful):
            if mcnemar_exact(harmful, helpful) <= alpha and Fraction(harmful - helpful, n) > Fraction(str(exceeding)):
                counts = [harmful, helpful, n - harmful - helpful]
                total += scipy_stats.multinomial.pmf(counts, n, [harm, help_, 1 - harm - help_])
    return total


@pytest.mark.parametrize('n', [1, 6, 17])
@pytest.mark.parametrize(('effect', 'churn'), [(0.0, 0.3), (0.2, 0.0), (0.35, 0.5), (1.0, 0.1)])
@pytest.mark.parametrize(('alpha', 'exceeding'), [(0.05, 0.0), (0.03125, 0.1), (0.2, 0.5)])
def test_power_by_enumeration(n: int, effect: float, churn: float, alpha: float, exceeding: float) -> None:
    """The power is the summed probability of all outcomes that the test calls a drop."""
    actual = mcnemar_power(n, effect=effect, churn=churn, alpha=alpha, exceeding=exceeding)
    assert close(actual, enumerated_power(n, effect, churn, alpha, exceeding))


@pytest.mark.parametrize(('n', 'churn', 'exceeding'), [(10, 0.0, 0.0), (60, 0.2, 0.1), (1000, 0.05, 0.02)])
def test_the_smallest_drop_has_the_power(n: int, churn: float, exceeding: float) -> None:
    """At the detectable effect the power is what was asked for, and just below it is not."""
    effect = minimum_detectable_effect(n, churn=churn, exceeding=exceeding)
    assert effect is not None
    at = mcnemar_power(n, effect=effect, churn=churn, exceeding=exceeding)
    below = mcnemar_power(n, effect=effect - 1e-5, churn=churn, exceeding=exceeding)
    assert at == pytest.approx(0.8, abs=1e-4)
    assert below < 0.8 <= at


@pytest.mark.parametrize(('n', 'alpha'), [(0, 0.05), (1, 0.05), (4, 0.05), (6, 0.01)])
def test_suites_that_cannot_see_anything(n: int, alpha: float) -> None:
    """Where not even all pairs turning bad are significant, no effect is detectable."""
    assert minimum_detectable_effect(n, churn=0.1, alpha=alpha, power=0.8) is None
    assert mcnemar_power(n, effect=1.0, alpha=alpha) == 0.0


def test_no_change_is_no_effect() -> None:
    """Without churn and effect nothing is ever seen."""
    assert mcnemar_power(50, effect=0.0) == 0.0


@given(few_scores, st.sampled_from(['two-sided', 'less', 'greater']))
@settings(max_examples=60, deadline=None)
def test_sign_flip_is_scipys_permutation_test(pairs: list[tuple[int, int]], alternative: Any) -> None:
    """For few pairs the p-value is exact, ties included, on either side."""
    before, after = [float(b) for b, _ in pairs], [float(a) for _, a in pairs]
    expected = scipy_stats.permutation_test(
        (after, before),
        lambda x, y, axis: (x - y).mean(axis=axis),
        permutation_type='samples',
        alternative=alternative,
        n_resamples=10_000,
        vectorized=True,
    )
    assert close(sign_flip(before, after, alternative=alternative), expected.pvalue)


def test_sign_flips_that_only_rounding_tells_apart() -> None:
    """Three differences of 0.1 are ties, although their floats are not."""
    assert sign_flip([0.3, 0.2, 0.1], [0.4, 0.3, 0.2], alternative='greater') == 1 / 8
    assert sign_flip([0.0], [0.5]) == 1.0
    assert sign_flip([0.2] * 9, [0.2] * 9) == 1.0


def test_many_sign_flips_are_drawn() -> None:
    """Beyond 16 pairs the test is a seeded sample, close to the exact p-value and never 0."""
    draw = random.Random(5)
    after = [draw.gauss(0.3, 1) for _ in range(16)]
    exact = sign_flip([0.0] * 16, after)
    sampled = sign_flip([0.0] * 17, [*after, 0.0])
    assert sampled == pytest.approx(exact, abs=3 * math.sqrt(exact * (1 - exact) / 10_000) + 1e-4)
    assert sampled == sign_flip([0.0] * 17, [*after, 0.0])
    assert sign_flip([0.0] * 40, [1.0] * 40) == 1 / 10_001


def scipy_bca(before: Sequence[float], after: Sequence[float], confidence: float, resampled: list[float]) -> Any:
    differences = [new - old for old, new in zip(before, after, strict=True)]
    drawn = SimpleNamespace(bootstrap_distribution=numpy.array(resampled))
    return scipy_stats.bootstrap(
        (differences,),
        lambda x, axis: x.mean(axis=axis),
        n_resamples=0,
        bootstrap_result=drawn,
        confidence_level=confidence,
        method='BCa',
    ).confidence_interval


@given(
    st.lists(st.tuples(st.integers(-40, 40), st.integers(-40, 40)), min_size=3, max_size=30),
    st.sampled_from([0.8, 0.9, 0.95]),
    st.integers(0, 3),
)
@settings(max_examples=30, deadline=None)
def test_bootstrap_is_scipys_bca(pairs: list[tuple[int, int]], confidence: float, seed: int) -> None:
    """On the same resamples, the interval is scipy's bias-corrected and accelerated one."""
    before, after = [b / 8 for b, _ in pairs], [a / 8 for _, a in pairs]
    differences = [new - old for old, new in zip(before, after, strict=True)]
    draw, n = random.Random(seed), len(pairs)
    resampled = sorted(sum(draw.choices(differences, k=n)) / n for _ in range(499))
    if not resampled[0] < math.fsum(differences) / n < resampled[-1]:
        return  # scipy has no interval there
    mean, low, high = paired_bootstrap(before, after, confidence=confidence, resamples=499, seed=seed)
    expected = scipy_bca(before, after, confidence, resampled)
    assert close((mean, low, high), (math.fsum(differences) / n, expected.low, expected.high))


def test_the_bootstrap_finds_the_usual_interval() -> None:
    """For many well-behaved differences it is the one of the t distribution, and a seed always gives the same."""
    draw = random.Random(1)
    before = [draw.random() for _ in range(200)]
    after = [value + draw.gauss(0.1, 0.2) for value in before]
    found = paired_bootstrap(before, after, confidence=0.95, resamples=4000, seed=7)
    expected = scipy_stats.ttest_rel(after, before).confidence_interval(0.95)
    assert found == pytest.approx((sum(after) / 200 - sum(before) / 200, expected.low, expected.high), abs=0.004)
    assert found == paired_bootstrap(before, after, confidence=0.95, resamples=4000, seed=7)


def test_the_bootstrap_of_equal_differences_has_no_width() -> None:
    """The jackknife has no spread, and neither has the interval."""
    assert paired_bootstrap([1.0, 2.0, 3.0], [0.5, 1.5, 2.5]) == (-0.5, -0.5, -0.5)
    assert paired_bootstrap([1, 1], [1, 1]) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize('resamples', [1, 2, 7])
def test_the_bootstrap_stays_among_its_means(resamples: int) -> None:
    """However few the resamples and however skewed the data, both ends are means of resamples."""
    for n in (2, 3, 40):
        _, low, high = paired_bootstrap([0.0] * n, [1000.0] + [0.0] * (n - 1), resamples=resamples)
        assert 0 <= low <= high <= 1000


@given(st.lists(st.integers(0, 64).map(lambda i: i / 64), max_size=12))
@settings(max_examples=20, deadline=None)
def test_holm(p_values: list[float]) -> None:
    """Adjusted p-values are those of statsmodels, in the order given."""
    expected = list(multipletests(p_values, method='holm')[1]) if p_values else []
    assert close(holm(p_values), expected)


def test_holm_with_ties() -> None:
    """Equal p-values are adjusted alike, and none exceeds 1."""
    assert holm([0.04, 0.01, 0.04, 0.9]) == [0.12, 0.04, 0.12, 0.9]
    assert holm([0.6, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.tuples(st.floats(-10, 10), st.integers(0, 4)), min_size=2, max_size=40))
@settings(max_examples=40, deadline=None)
def test_clustered_standard_error(rows: list[tuple[float, int]]) -> None:
    """It is the cluster-robust standard error of a regression on a constant."""
    scores, clusters = [score for score, _ in rows], [cluster for _, cluster in rows]
    if len(set(clusters)) < 2:
        return
    model = regression.OLS(scores, [1.0] * len(scores))
    fitted = model.fit(cov_type='cluster', cov_kwds={'groups': numpy.array(clusters)})
    assert clustered_se(scores, clusters) == pytest.approx(float(fitted.bse[0]), rel=1e-9, abs=1e-9)


def test_clusters_of_one_are_independent() -> None:
    """Without clusters it is the usual standard error; repeats in one cluster do not shrink it."""
    scores = [0.0, 1.0, 1.0, 0.5]
    assert close(clustered_se(scores, 'abcd'), scipy_stats.sem(scores))
    assert close(clustered_se(scores * 3, list('abcd') * 3), scipy_stats.sem(scores))


def test_noninferiority_is_the_lower_end_of_the_interval() -> None:
    """The bound at level alpha is the lower end of the paired interval of 1 - 2 alpha, and must exceed the margin."""
    before, after = [1.0, 0.5, 0.0, 1.0, 0.75, 0.25], [0.5, 0.5, 0.25, 1.0, 0.5, 0.25]
    _, low, _ = paired_bootstrap(before, after, confidence=0.9)
    assert noninferiority(before, after, margin=0.3, alpha=0.05) == (low, True)
    assert noninferiority(before, after, margin=-low, alpha=0.05) == (low, False)
    assert noninferiority([0.5] * 40, [0.5] * 40, margin=0.02, alpha=0.05) == (0.0, True)


def test_noninferiority_of_many_pairs_is_normal() -> None:
    """From 300 pairs on the bound is mean minus z standard errors."""
    draw = random.Random(3)
    after = [draw.random() for _ in range(300)]
    expected = sum(after) / 300 - scipy_stats.norm.ppf(0.95) * scipy_stats.sem(after)
    bound, holds = noninferiority([0.0] * 300, after, margin=0.0, alpha=0.05)
    assert (close(bound, expected), holds) == (True, True)


def tango_z(harmful: int, helpful: int, n: int, change: float) -> float:
    """Tango's statistic with the nuisance share found by maximising the likelihood."""

    def loss(share: float) -> float:
        cells = [(harmful, share), (helpful, share + change), (n - harmful - helpful, 1 - 2 * share - change)]
        return -sum(count * math.log(max(p, 1e-300)) for count, p in cells if count)

    low, high = max(0.0, -change), (1 - change) / 2
    share = scipy_optimize.minimize_scalar(loss, bounds=(low, high), method='bounded', options={'xatol': 1e-13}).x
    return (helpful - harmful - n * change) / math.sqrt(n * (2 * share + change * (1 - change)))


@pytest.mark.parametrize(('harmful', 'helpful', 'n'), [(3, 1, 30), (10, 12, 60), (1, 5, 40), (20, 4, 50)])
def test_the_bound_of_a_change_is_tangos(harmful: int, helpful: int, n: int) -> None:
    """At the bound, the score statistic is the normal quantile."""
    bound = paired_difference_bound(harmful, helpful, n, alpha=0.05)
    assert tango_z(harmful, helpful, n, bound) == pytest.approx(scipy_stats.norm.ppf(0.95), abs=1e-4)


def test_the_bound_of_a_change_where_nothing_changed() -> None:
    """No changed pair of 50 still allows a drop of five points; with every pair harmful there is nothing below."""
    z2 = scipy_stats.norm.ppf(0.95) ** 2
    assert close(paired_difference_bound(0, 0, 50, alpha=0.05), -z2 / (50 + z2))
    assert paired_difference_bound(7, 0, 7, alpha=0.05) == -1.0


@given(st.floats(0, 1), st.floats(0.5, 500), st.floats(0.5, 500))
@settings(max_examples=80, deadline=None)
def test_the_incomplete_beta_function(x: float, a: float, b: float) -> None:
    """It is scipy's, and its quantile takes it back."""
    assert close(regularized_beta(x, a, b), scipy_special.betainc(a, b, x))
    p = 0.001 + 0.998 * x
    assert close(beta_quantile(p, a, b), scipy_special.betaincinv(a, b, p))


@pytest.mark.parametrize('freedom', [1, 2, 9, 40, 299])
def test_students_quantiles(freedom: int) -> None:
    """They are scipy's."""
    for p in (0.6, 0.8, 0.95, 0.999):
        assert close(student_quantile(p, freedom), scipy_stats.t.ppf(p, freedom))


@pytest.mark.parametrize('n', [0, 1, 20, 50, 51, 900, 5000])
@pytest.mark.parametrize('p', [0.0, 0.01, 0.5, 0.77, 1.0])
def test_binomial_probabilities(n: int, p: float) -> None:
    """They are scipy's, outside the possible counts 0."""
    for k in {-1, 0, 1, n // 2, n, n + 1}:
        assert close(binomial_mass(k, n, p), scipy_stats.binom.pmf(k, n, p))


NAN = math.nan


@pytest.mark.parametrize(
    ('call', 'message'),
    [
        (lambda: mcnemar_exact(-1, 2), '`harmful` must be a whole number that is at least 0; got -1'),
        (lambda: mcnemar_exact(1, 2.5), '`helpful` must be a whole number that is at least 0; got 2.5'),
        (lambda: mcnemar_exact(True, 2), '`harmful` must be a whole number that is at least 0; got True'),
        (
            lambda: clopper_pearson(0, 0),
            '`n` must be at least 1; got 0: without a trial there is no share, so report it as missing',
        ),
        (
            lambda: wilson(0, 0),
            '`n` must be at least 1; got 0: without a trial there is no share, so report it as missing',
        ),
        (lambda: wilson(4, 3), '`k` must be at most `n` = 3; got 4'),
        (lambda: wilson(1, 3, confidence=95), '`confidence` must lie between 0 and 1, such as 0.95; got 95'),
        (lambda: clopper_pearson(1, 3, confidence=NAN), '`confidence` must lie between 0 and 1, such as 0.95; got nan'),
        (lambda: paired_bootstrap([1], [2]), 'at least 2 pairs are needed; got 1'),
        (lambda: paired_bootstrap([], []), 'at least 2 pairs are needed; got 0'),
        (
            lambda: paired_bootstrap([1, 2], [2]),
            '`before` and `after` must hold the same cases; got 2 and 1 values',
        ),
        (
            lambda: paired_bootstrap([1, NAN], [2, 3]),
            'every value must be a finite number; got nan: leave the case out and say so',
        ),
        (
            lambda: paired_bootstrap([1, 2], [2, 3], resamples=0),
            '`resamples` must be at least 1; got 0: 10000 is usual',
        ),
        (lambda: sign_flip([], []), 'at least 1 pair is needed; got 0'),
        (
            lambda: sign_flip([1], [math.inf]),
            'every value must be a finite number; got inf: leave the case out and say so',
        ),
        (
            lambda: sign_flip([1], [2], alternative='worse'),  # pyright: ignore[reportArgumentType] - what the test is about
            "`alternative` must be 'two-sided', 'less' or 'greater'; got 'worse'",
        ),
        (lambda: holm([0.1, NAN]), 'every p-value must be between 0 and 1; got nan'),
        (lambda: noninferiority([1, 2], [1, 2], margin=-0.1), '`margin` must be a number that is at least 0; got -0.1'),
        (
            lambda: noninferiority([1, 2], [1, 2], margin=0.1, alpha=0.6),
            '`alpha` must lie between 0 and 0.5, such as 0.05; got 0.6',
        ),
        (
            lambda: paired_difference_bound(2, 2, 3),
            '`n` must be at least 1 and at least harmful + helpful = 4; got 3',
        ),
        (lambda: minimum_detectable_effect(10, churn=1.2), '`churn` must be between 0 and 1; got 1.2'),
        (lambda: minimum_detectable_effect(10, power=1), '`power` must lie between 0 and 1, such as 0.95; got 1'),
        (lambda: mcnemar_power(10, effect=NAN), '`effect` must be between 0 and 1; got nan'),
        (lambda: clustered_se([1, 2], ['a']), '`scores` and `clusters` must be of one length; got 2 and 1'),
        (
            lambda: clustered_se([1, 2], 'aa'),
            '`clusters` must name at least 2 clusters; got 1: one cluster has no spread',
        ),
    ],
)
def test_what_is_refused(call: Callable[[], object], message: str) -> None:
    """Numbers that no test can be done on are named, with the rule; nothing is ever made up for them."""
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == message


def test_whole_numbers_of_other_libraries_never_overflow() -> None:
    """Counts of numpy are taken as Python's own whole numbers."""
    int64 = numpy.int64
    assert mcnemar_exact(int64(70), int64(70)) == mcnemar_exact(70, 70)


def test_everything_is_described() -> None:
    """The names of the room are there and say what they are."""
    for name in statistics.__all__:
        assert getattr(statistics, name).__doc__


def test_ways_add_up() -> None:
    """The tail of the exact test is the sum of its binomial coefficients."""
    for harmful, helpful in itertools.product(range(8), repeat=2):
        n = harmful + helpful
        assert mcnemar_exact(harmful, helpful) == sum(math.comb(n, k) for k in range(harmful, n + 1)) / 2**n
