"""Policy files: what they may say, and what is wrong with them."""

from __future__ import annotations

import hashlib
import re
from datetime import date
from pathlib import Path

import pytest

from advisor_harness.evals import Policy, PolicyError
from advisor_harness.evals.rules import Budgets, MetricGate, Preconditions, Quarantined
from advisor_harness.evals.statistics import clopper_pearson, minimum_detectable_effect

FILE = Path('evals/x.policy.yaml')


def read(text: str) -> Policy:
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text)
    return Policy.from_file(FILE)


def test_every_key_is_optional() -> None:
    """An empty file asks that the harness worked and every case passes."""
    policy = read('# nothing\n')
    assert policy.model_dump() == Policy().model_dump()
    assert policy.preconditions == Preconditions(cassettes=1.0, traces=1.0, scored=1.0)
    assert policy.only_all_pass


def test_everything_a_policy_may_say() -> None:
    """All keys are read; file and hash are known."""
    text = """
preconditions: {cassettes: 0.9, traces: 1, scored: 0.5}
must_pass: [a, b]
metrics:
  right: {arm: advised, min: 0.9, max: 1.0, max_regression: 0.02, test: mcnemar, alpha: 0.01, min_n: 7,
          direction: down, severity: warn, on_missing: fail, tag: hard}
  hard right: {metric: right, tag: hard, min: 1}
  shown:
budgets: {cost_usd: 1, input_tokens: 100000, output_tokens: 20000, p95_recorded_latency_s: 30.5}
quarantine: [{case: c, reason: flaky provider, expires: 2027-01-31}]
"""
    policy = read(text)
    assert (
        policy.model_dump()
        == Policy(
            preconditions=Preconditions(cassettes=0.9, traces=1, scored=0.5),
            must_pass=('a', 'b'),
            metrics={
                'right': MetricGate(
                    arm='advised',
                    min=0.9,
                    max=1.0,
                    max_regression=0.02,
                    test='mcnemar',
                    alpha=0.01,
                    min_n=7,
                    direction='down',
                    severity='warn',
                    on_missing='fail',
                    tag='hard',
                ),
                'hard right': MetricGate(metric='right', tag='hard', min=1),
                'shown': MetricGate(),
            },
            budgets=Budgets(cost_usd=1, input_tokens=100000, output_tokens=20000, p95_recorded_latency_s=30.5),
            quarantine=(Quarantined(case='c', reason='flaky provider', expires=date(2027, 1, 31)),),
        ).model_dump()
    )
    assert (policy.file, policy.sha256) == ('evals/x.policy.yaml', hashlib.sha256(text.encode()).hexdigest())


@pytest.mark.parametrize(
    ('text', 'problem'),
    [
        ('metric: {}', 'unknown key `metric`: did you mean `metrics`?'),
        ('metrics: {x: {mim: 1}}', 'unknown key `metrics.x.mim`: did you mean `min`?'),
        (
            'budgets: {euros: 1}\nfoo: 1',
            'unknown key `budgets.euros`: there is cost_usd, input_tokens, output_tokens, p95_recorded_latency_s; '
            'unknown key `foo`: there is preconditions, must_pass, metrics, budgets, quarantine',
        ),
        (
            'quarantine: [{case: a, reason: b, expires: 2027-01-31, until: 3}]',
            'unknown key `until` in entry 1 of `quarantine`: there is case, reason, expires',
        ),
        ('metrics: {x: {min: high}}', "`metrics.x.min` must be a number; got 'high'"),
        ('metrics: {x: {min: true}}', '`metrics.x.min` must be a number; got True'),
        ('metrics: {x: {min: .nan}}', '`metrics.x.min` must be a number that is finite; got nan'),
        ('metrics: {x: {min: 2, max: 1}}', '`metrics.x`: min 2 is greater than max 1'),
        ('metrics: {x: {min_n: 2.5}}', '`metrics.x.min_n` must be a whole number; got 2.5'),
        ('metrics: {x: {alpha: 0}}', '`metrics.x.alpha` must be greater than 0; got 0'),
        ('metrics: {x: {alpha: 1}}', '`metrics.x.alpha` must be less than 1; got 1'),
        ('metrics: {x: {max_regression: -1}}', '`metrics.x.max_regression` must be at least 0; got -1'),
        ('metrics: {x: {test: ttest}}', "`metrics.x.test` must be flips, mcnemar, noninferiority or none; got 'ttest'"),
        (
            'metrics: {x: {test: noninferiority}}',
            '`metrics.x`: test noninferiority needs `max_regression`, its margin, greater than 0, such as 0.05',
        ),
        (
            'metrics: {x: {test: mcnemar, alpha: 0.7}}',
            '`metrics.x`: alpha 0.7 is no level of a test: it must be below 0.5, such as 0.05',
        ),
        (
            'metrics: {x: {arm: 3}}',
            '`metrics.x.arm` must be a name; put it in quotes if YAML reads it as something else; got 3',
        ),
        ('metrics: {"": {}}', "the name of each entry of `metrics` must be a name that is not empty; got ''"),
        ('metrics: {x: {severity: fatal}}', "`metrics.x.severity` must be block, warn or info; got 'fatal'"),
        ('metrics: [x]', "`metrics` must be a mapping, as in `metrics: {accuracy: {min: 0.9}}`; got ['x']"),
        ('metrics: {x: 1}', '`metrics.x` must be a mapping, as in `metrics: {accuracy: {min: 0.9}}`; got 1'),
        ('preconditions: {traces: 1.5}', '`preconditions.traces` must be at most 1; got 1.5'),
        ('must_pass: a', "`must_pass` must be a list, as in `must_pass: [one-case, another]`; got 'a'"),
        ('budgets:', '`budgets` must be a mapping, as in `budgets: {cost_usd: 1.0}`; got nothing'),
        (
            'must_pass: [1]',
            'entry 1 of `must_pass` must be a name; put it in quotes if YAML reads it as something else; got 1',
        ),
        ('quarantine: [{case: a, expires: 2027-01-31}]', '`reason` in entry 1 of `quarantine` is missing'),
        (
            'quarantine: [{case: a, reason: b, expires: soon}]',
            "`expires` in entry 1 of `quarantine` must be a date, such as 2027-01-31; got 'soon'",
        ),
        (
            'quarantine: [{case: a, reason: b, expires: 2027-01-31 10:00:00}]',
            '`expires` in entry 1 of `quarantine` must be a date without a time, such as 2027-01-31; '
            'got 2027-01-31 10:00:00',
        ),
        (
            '- a',
            'the file must be a mapping with keys such as preconditions, must_pass, metrics, budgets, quarantine; '
            "got ['a']",
        ),
    ],
)
def test_what_a_policy_may_not_say(text: str, problem: str) -> None:
    """Unknown keys and unusable values are named with their place in the file, in words of the file."""
    with pytest.raises(PolicyError) as caught:
        read(text)
    assert caught.value.message == f'policy evals/x.policy.yaml: {problem}'


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('quarantine: [{expires: 2027-13-31}]', 'policy evals/x.policy.yaml is not valid YAML: month must be in 1..12'),
        ('a: [', 'policy evals/x.policy.yaml is not valid YAML: while parsing'),
        (
            'metrics: {x: {min: 1}}\nmetrics: {}',
            "policy evals/x.policy.yaml is not valid YAML: key 'metrics' is given twice",
        ),
        ('metrics:\n  x: {min: 1}\n  x: {}', "policy evals/x.policy.yaml is not valid YAML: key 'x' is given twice"),
    ],
)
def test_a_policy_that_is_no_yaml(text: str, message: str) -> None:
    """Broken YAML is named, and so is a key given twice, which would silently drop a gate."""
    with pytest.raises(PolicyError) as caught:
        read(text)
    assert caught.value.message.startswith(message)


def test_a_policy_that_is_not_there() -> None:
    """A missing file is an error, never an empty policy."""
    with pytest.raises(PolicyError) as caught:
        Policy.from_file(Path('nowhere.yaml'))
    assert caught.value.message == 'policy nowhere.yaml cannot be read: No such file or directory'


def test_merged_keys_of_yaml() -> None:
    """YAML's own way to share values between gates is no key given twice."""
    policy = read('metrics:\n  a: &hard {min: 0.5, tag: hard}\n  b:\n    <<: *hard\n    min: 0.7\n')
    assert policy.metrics == {'a': MetricGate(min=0.5, tag='hard'), 'b': MetricGate(min=0.7, tag='hard')}


def test_a_quarantine_ends_after_its_last_day() -> None:
    """On the day it expires a case is still set aside, on the next it counts."""
    policy = Policy(quarantine=(Quarantined(case='a', reason='why', expires=date(2027, 1, 31)),))
    assert policy.set_aside(date(2027, 1, 31)) == {'a': 'why'}
    assert policy.set_aside(date(2027, 2, 1)) == {}


PAGE = (Path(__file__).parents[2] / 'docs' / 'policy.md').read_text(encoding='utf-8')


def test_the_policy_of_the_page() -> None:
    """The example of `docs/policy.md` is a policy, and the page names every key that there is."""
    (text,) = re.findall(r'```yaml\n(.*?)```', PAGE, re.DOTALL)
    policy = read(text)
    assert list(policy.metrics) == ['Contains', 'easy', 'no worse', 'lift']
    keys = [*Policy.model_fields, *MetricGate.model_fields, *Quarantined.model_fields, *Budgets.model_fields]
    assert [key for key in keys if f'`{key}`' not in PAGE and f'{key}:' not in PAGE] == []


def test_the_tables_of_the_page() -> None:
    """What the page says that a suite can see is what the statistics say."""
    rows = {
        cells[0]: cells[1:] for line in PAGE.splitlines() if (cells := [c.strip() for c in line.strip('| ').split('|')])
    }
    for churn, name in ((0.0, 'no case changes by chance'), (0.1, '10 % do'), (0.2, '20 % do')):
        for n, shown in zip((10, 20, 30, 50, 100, 200, 400), map(float, rows[name]), strict=True):
            effect = minimum_detectable_effect(n, churn=churn)
            assert effect is not None
            assert shown - (1 if n < 100 else 0.5) < 100 * effect <= shown
    for n, shown in zip((5, 10, 20, 30, 50, 100, 300), map(float, rows['rate']), strict=True):
        assert round(clopper_pearson(n, n, confidence=0.9)[0], 3) == shown
