"""Writes `docs/metrics.md` from the metrics and scorers: `python scripts/generate_metrics.py [--check]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from advisor_harness.evals.metrics import METRICS

FILE = Path(__file__).parents[1] / 'docs' / 'metrics.md'
TITLES = {
    1: ('Lift, beside its noise floor', 'any grade'),
    2: ('Gap recovered', 'any grade'),
    3: ('Flips', 'any grade'),
    4: ('Consult recall', '`Consulted`'),
    5: ('Consult precision, false consultations', '`Consulted`'),
    6: ('Consult timing', '`ConsultTiming`'),
    7: ('Adherence', '`Adherence`; a `Judge` for free text'),
    8: ('Appropriate reliance', '`AdviceCorrectness`'),
    9: ('Advice correctness', '`AdviceCorrectness`; a `Judge` for free text'),
    10: ('Harmful advice', '`Consulted`, `Adherence`, `AdviceCorrectness`'),
    11: ('Advice bounds', '`AdviceSize`; as assertions `AdviceWithinBounds`, `NotTruncated`'),
    12: ('Redundancy', '`Redundancy`; as an assertion `NotAnEcho`'),
    13: ('Cost per point', 'any grade; costs of the records'),
    14: ('Latency overhead', '`AdvisorLatency`'),
    15: ('Structured validity', '`StructuredAttempts`; as an assertion `StructuredAdviceValid`'),
    16: ('Quota compliance', '`QuotaCompliance`; as an assertion `ExpectedRefusals`'),
    17: ('Retry recovery', '`AdvisorFailures`'),
    18: ('Error propagation', '`AdvisorFailures`; as assertions `ExpectedError`, `ExpectedErrorCode`'),
    19: ('Trace completeness', 'the records; as an assertion `OwnSpansValid`'),
    20: ('Replay fidelity', 'the records'),
    21: ('Context hygiene', '`ContextHygiene`'),
    22: ('Calibration of asking', '`Confidence`'),
    0: ('Of any scorer, of judges', 'the scorer that `of` names'),
}
HEAD = """# Metrics

What is measured about an advisor, and how. Generated from `advisor_harness.evals.metrics` and
`advisor_harness.evals.scorers` by `python scripts/generate_metrics.py`; definitions in full, with their sources, are
the docstrings there.

A *scorer* says something about one case. A *metric* is computed over several, most of them over the pairs of a case in
two arms: `arm` (usually `advised`) and `against` (usually `solo`). A policy names both alike:

```yaml
metrics:
  ExpectedDecision: {arm: advised, min: 0.8}
  lift_lower: {of: ExpectedDecision, min: 0.02}
  harmful_flips: {of: ExpectedDecision, tag: easy, max: 0.0}
```

`of` names the scorer whose value is the grade q of a case, 0 to 1; without it a case that passed has q = 1. A grade of
at least 0.5 is a pass. Repeats of a case are averaged first, so they never pose as cases of their own.

What cannot be said is no number. A metric that is not defined (a share of no cases, a ratio over a gap that may be
noise) has no value and says why; a case of which something is not known is named, and `on_missing` decides. Neither is
ever 0.

| # | what | metrics | which way | reads |
| --- | --- | --- | --- | --- |
"""


def main() -> int:
    """Write the file, or with `--check` say whether it is up to date."""
    text = page()
    if '--check' in sys.argv:
        return int(FILE.read_text(encoding='utf-8') != text)
    FILE.write_text(text, encoding='utf-8')
    return 0


def page() -> str:
    """The whole page."""
    return HEAD + '\n'.join(rows()) + '\n\n## Definitions\n\n' + '\n'.join(definitions()) + '\n'


def rows() -> Iterator[str]:
    """One row for each number, in order; what has none comes last."""
    for number, (title, reads) in TITLES.items():
        named = {name: metric for name, metric in METRICS.items() if metric.number == number}
        ways = ', '.join(dict.fromkeys(metric.direction or 'neither' for metric in named.values()))
        yield f'| {number or ""} | {title} | {", ".join(f"`{name}`" for name in named)} | {ways} | {reads} |'


def definitions() -> Iterator[str]:
    """One line for each metric, by number."""
    for name, metric in sorted(METRICS.items(), key=lambda item: item[1].number or 99):
        yield f'- `{name}` ({metric.unit}): {metric.definition}'


if __name__ == '__main__':
    sys.exit(main())
