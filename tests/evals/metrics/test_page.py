"""`docs/metrics.md` is what the metrics and scorers are."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from advisor_harness.evals import scorers
from advisor_harness.evals.metrics import METRICS, names

ROOT = Path(__file__).parents[3]
SCRIPT = runpy.run_path(str(ROOT / 'scripts' / 'generate_metrics.py'))


def test_the_page_is_up_to_date() -> None:
    """The page is generated: run `python scripts/generate_metrics.py`."""
    assert (ROOT / 'docs' / 'metrics.md').read_text(encoding='utf-8') == SCRIPT['page']()


def test_all_22_are_there() -> None:
    """Every number of the list has a metric, and every metric has a row of the list."""
    assert sorted({metric.number for metric in METRICS.values()}) == list(range(23))
    assert sorted(SCRIPT['TITLES']) == list(range(23))


def test_what_the_rows_read_exists() -> None:
    """The scorers that rows name are scorers, and all can be named in a dataset's file."""
    named = {word for _, reads in SCRIPT['TITLES'].values() for word in re.findall(r'`([A-Z]\w+)`', reads)}
    assert named <= set(scorers.__all__)
    assert {scorer.__name__ for scorer in scorers.ALL} == {name for name in scorers.__all__ if name != 'ALL'}


def test_facts_have_the_names_of_their_scorers() -> None:
    """A metric finds a fact by the default name of the scorer that gives it."""
    of_scorers = {scorer.__name__ for scorer in scorers.ALL}
    read = (names.CONSULTED, names.CONSULT_TIMING, names.ADHERENCE, names.ADVICE_CORRECTNESS, names.REDUNDANCY)
    read += (names.ADVISOR_LATENCY, names.QUOTA_COMPLIANCE, names.ADVISOR_FAILURES, names.CONTEXT_HYGIENE)
    assert {*read, names.CONFIDENCE} <= of_scorers
