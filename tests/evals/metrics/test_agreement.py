"""Agreement of judges with people, by hand-computed examples, and what it means for gates."""

from __future__ import annotations

from datetime import date

import pytest

from advisor_harness.evals import Policy, Verdict
from advisor_harness.evals.gates import judge_suite
from advisor_harness.evals.meta import SuiteMeta
from advisor_harness.evals.metrics.agreement import agreement_of

from .units import measure, record, unit

Verdicts = list[tuple[bool, bool]]


def judged(verdicts: Verdicts):
    """Cases whose judge and person said this."""
    return [
        unit(f'c{place}', 'advised', True, **{'Judge': float(judge), 'Judge.label': float(person)})
        for place, (judge, person) in enumerate(verdicts)
    ]


EXAMPLE: Verdicts = [(True, True)] * 4 + [(False, False)] * 4 + [(True, False)] * 2


def test_alpha() -> None:
    """Ten texts, two differ: 0.2 observed; of 20 verdicts 10 are yes: 2 * 10 * 10 / (20 * 19) by chance."""
    found = measure('judge_agreement', judged(EXAMPLE), of='Judge')
    assert (found.value, found.n_scored) == (pytest.approx(1 - 0.2 * 19 / 10), 10)
    assert found.detail == '8 of 10 labels, at least 0.444, alpha 0.620'


def test_alpha_where_nothing_could_differ() -> None:
    """A judge that always says yes where people always do shows no agreement; nor does one without labels or name."""
    found = measure('judge_agreement', judged([(True, True)] * 40), of='Judge')
    assert (found.value, found.detail) == (None, '40 of 40 labels, at least 0.912, alpha undefined')
    assert measure('judge_agreement', [unit('a', 'advised', True, Judge=1.0)], of='Judge').detail == (
        '0 of 0 labels, alpha undefined'
    )
    assert measure('judge_agreement', [], of=None).detail == '`of` must name the judge'


@pytest.mark.parametrize(
    ('verdicts', 'shortfall'),
    [
        ([(True, True)] * 16 + [(False, False)] * 14, None),
        (EXAMPLE, "judge 'Judge' has 10 labels; it may block from 30 on"),
        (
            EXAMPLE * 4,
            "judge 'Judge' agrees with 32 of 40 labels, at least 0.644, alpha 0.605; "
            'it may block from at least 0.7 and alpha 0.667 on',
        ),
        (
            [(True, True)] * 40,
            "judge 'Judge' agrees with 40 of 40 labels, at least 0.912, alpha undefined; "
            'it may block from at least 0.7 and alpha 0.667 on',
        ),
    ],
)
def test_what_a_judge_needs_to_block(verdicts: Verdicts, shortfall: str | None) -> None:
    """Thirty labels, an alpha of 0.667, and equal verdicts in 70 % at least, by the lower end of their interval."""
    assert agreement_of('Judge', judged(verdicts)).shortfall == shortfall


@pytest.mark.parametrize('gate', ['{metric: measured_mean, of: Judge, min: 0.9}', '{metric: Judge, min: 0.9}'])
@pytest.mark.parametrize(
    ('verdicts', 'verdict', 'severity'),
    [
        ([(True, True)] * 16 + [(False, False)] * 14, Verdict.BLOCKED, 'block'),
        (EXAMPLE, Verdict.PASS, 'info'),
    ],
)
def test_only_a_judge_that_agrees_with_people_blocks(
    verdicts: Verdicts, verdict: Verdict, severity: str, gate: str, tmp_path
) -> None:
    """The same limit, missed by both judges, blocks by the one that agrees; the other is shown, with the reason."""
    (file := tmp_path / 'policy.yaml').write_text(f'metrics:\n  convincing: {gate}\n')
    cases = [f'c{place}' for place in range(len(verdicts))]
    suite = SuiteMeta(
        name='s',
        regime='replay',
        arms=('advised',),
        repeat=1,
        cases=dict.fromkeys(cases, ()),
        metrics={'Judge': 'score'},
        judges=('Judge',),
    )
    records = {
        each.key: each
        for case, (judge, person) in zip(cases, verdicts, strict=True)
        for each in [record('advised', None, {'Judge': float(judge), 'Judge.label': float(person)}, case)]
    }
    found = judge_suite(suite, records, Policy.from_file(file), today=date(2026, 1, 1))
    (result,) = found.gates
    assert (found.verdict, result.severity) == (verdict, severity)
    if severity == 'info':
        assert (result.verdict, result.detail and result.detail.partition(';')[0]) == (
            'info',
            "judge 'Judge' has 10 labels",
        )
