"""The report for CI servers: one `<testsuite>` per suite, one `<testcase>` per case and arm, one per gate."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from advisor_harness.evals.reports.movers import flip_counts
from advisor_harness.evals.reports.summary import CaseRow, SuiteSummary, Summary, summarise
from advisor_harness.evals.reports.words import (
    baseline_text,
    clip,
    detectable_texts,
    gate_text,
    one_line,
    share_met,
    visible,
)
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import GateResult, Precondition, RunVerdict, Verdict

__all__ = ['render', 'render_summary']

_LONGEST_MESSAGE = 500


def render(verdict: RunVerdict, store: RunStore) -> str:
    """The report as JUnit XML: `render_summary` of the run's records."""
    return render_summary(summarise(verdict, store))


def render_summary(summary: Summary) -> str:
    """The report of a run that was summarised already.

    `<failure>` is an assertion or a gate that failed, `<error>` a crash or something that was not measured, `<skipped>`
    a case that the policy sets aside. A precondition is listed when it is not met.
    """
    root = ET.Element('testsuites', name='advisor-harness')
    root.extend(_suite(suite, summary.verdict) for suite in summary.suites)
    for element in (*root, root):
        _count(element)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(suite: SuiteSummary, run: RunVerdict) -> ET.Element:
    element = ET.Element('testsuite', name=visible(suite.name))
    properties = ET.SubElement(element, 'properties')
    for name, value in _facts(suite, run).items():
        ET.SubElement(properties, 'property', name=visible(name), value=visible(value))
    element.extend(_row(row) for row in suite.rows)
    element.extend(_gate(suite.name, gate) for gate in suite.verdict.gates)
    element.extend(_precondition(suite.name, unmet) for unmet in suite.verdict.preconditions if not unmet.ok)
    element.extend(_unexplained(suite))
    return element


def _facts(suite: SuiteSummary, run: RunVerdict) -> dict[str, str]:
    verdict = suite.verdict
    worse, better, other = flip_counts(verdict.flips)
    given = {
        'run': run.run_id,
        'regime': verdict.regime,
        'verdict': str(verdict.verdict),
        'narrowed to': run.narrowed or '',
        'baseline': baseline_text(verdict),
        'flips': f'{worse} worse, {better} better, {other} otherwise' if verdict.flips else '',
        'detectable': '; '.join(detectable_texts(verdict)),
        'quarantine over': '; '.join(f'{case}: {reason}' for case, reason in verdict.expired.items()),
    }
    recordings = {f'recordings by {kind}': str(count) for kind, count in suite.answered_by.items()}
    return {name: value for name, value in given.items() if value} | recordings


def _row(row: CaseRow) -> ET.Element:
    seconds = sum(record.duration_s for record in row.records)
    element = ET.Element('testcase', classname=visible(row.suite), name=visible(row.label), time=f'{seconds:.3f}')
    if row.quarantined is not None:
        ET.SubElement(element, 'skipped', message=visible(row.quarantined))
    elif row.state == 'failed':
        _fault(element, 'failure', 'assertion', '\n'.join(row.why))
    elif not row.fine:
        kinds = [record.error.type for record in row.records if record.error is not None]
        _fault(element, 'error', kinds[0] if kinds else 'incomplete', '\n'.join(row.why))
    return element


def _gate(suite: str, gate: GateResult) -> ET.Element:
    element = ET.Element('testcase', classname=visible(f'{suite}.gates'), name=visible(gate.metric))
    text = gate_text(gate)
    if gate.verdict == 'fail':
        _fault(element, 'failure', 'gate', text)
    elif gate.verdict == 'missing':
        _fault(element, 'error', 'not measured', text)
    else:
        ET.SubElement(element, 'system-out').text = visible(f'{gate.verdict}: {text}')
    return element


def _precondition(suite: str, unmet: Precondition) -> ET.Element:
    element = ET.Element('testcase', classname=visible(f'{suite}.preconditions'), name=visible(unmet.name))
    detail = f': {unmet.detail}' if unmet.detail else ''
    _fault(element, 'error', 'precondition', f'{unmet.name} {share_met(unmet)}{detail}')
    return element


def _unexplained(suite: SuiteSummary) -> Iterator[ET.Element]:
    """A verdict that no gate and no precondition shows would look green on a CI server."""
    verdict = suite.verdict
    shown = any(gate.verdict in ('fail', 'missing') for gate in verdict.gates) or not all(
        condition.ok for condition in verdict.preconditions
    )
    if verdict.verdict is not Verdict.PASS and not shown:
        element = ET.Element('testcase', classname=visible(f'{suite.name}.verdict'), name='verdict')
        _fault(element, 'error', 'verdict', f'{suite.name} is {verdict.verdict}')
        yield element


def _fault(element: ET.Element, tag: str, kind: str, text: str) -> None:
    message = clip(one_line(text), _LONGEST_MESSAGE)
    ET.SubElement(element, tag, type=visible(kind), message=message).text = visible(text)


def _count(element: ET.Element) -> None:
    cases = list(element.iter('testcase'))
    element.set('tests', str(len(cases)))
    for attribute, tag in (('failures', 'failure'), ('errors', 'error'), ('skipped', 'skipped')):
        element.set(attribute, str(sum(case.find(tag) is not None for case in cases)))
    element.set('time', f'{sum(float(case.get("time", 0)) for case in cases):.3f}')
