"""Fills the templates of the page."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from advisor_harness.evals.reports.html.details import attempts
from advisor_harness.evals.reports.html.page import CaseView, suite_views
from advisor_harness.evals.reports.summary import Summary, summarise
from advisor_harness.evals.reports.words import (
    PROVES,
    REGIMES,
    change,
    counted,
    number,
    one_line,
    percent,
    plural,
    share_met,
    usd,
    visible,
)
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import RunVerdict

__all__ = ['render', 'render_summary']

_TEMPLATES = Path(__file__).parent / 'templates'

_MARKS = {
    'pass': '✓',
    'ok': '✓',
    'fail': '✗',
    'failed': '✗',
    'blocked': '✗',
    'error': '!',
    'warn': '!',
    'missing': '?',
    'inconclusive': '?',
    'unscored': '?',
    'cancelled': '–',
    'set aside': '–',
    'info': '·',
}

_TONES = {
    'pass': 'good',
    'ok': 'good',
    'improved': 'good',
    'fail': 'bad',
    'failed': 'bad',
    'error': 'bad',
    'blocked': 'bad',
    'regressed': 'bad',
    'info': 'calm',
    'changed': 'calm',
    'value': 'calm',
    'unchanged': 'calm',
    'set aside': 'calm',
}


def render(verdict: RunVerdict, store: RunStore) -> str:
    """The report as one HTML file: `render_summary` of the run's records."""
    return render_summary(summarise(verdict, store), store)


def render_summary(summary: Summary, store: RunStore) -> str:
    """The report of a run that was summarised already.

    The cases that need a look are shown in full as far as `page.ROOM_FOR_CASES` goes, and named in any case. What is
    left out is said.
    """
    case = _template('case.html')

    def draw(view: CaseView) -> str:
        return case.render(case=view, attempts=attempts(view.row, store))

    script = _asset('script.js')
    return _template('report.html').render(
        run=summary.verdict,
        meta=store.meta,
        summary=summary,
        suites=suite_views(summary, draw),
        style=Markup(_asset('style.css')),
        script=Markup(script),
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _template(name: str) -> Template:
    return _environment().get_template(name, globals=_vocabulary())


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def _vocabulary() -> dict[str, Any]:
    """What the templates put into words as every other report does."""
    return {
        'change': change,
        'counted': counted,
        'mark': _mark,
        'number': number,
        'one_line': one_line,
        'percent': percent,
        'plural': plural,
        'proves': PROVES,
        'regimes': REGIMES,
        'share_met': share_met,
        'tone': _tone,
        'usd': usd,
    }


def _mark(word: str) -> str:
    return _MARKS.get(word, '!')


def _tone(word: str) -> str:
    return _TONES.get(word, 'warn')


@cache
def _asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding='utf-8')


def _shown(value: Any) -> Any:
    """`value` as it is put into the page.

    Addresses that a model or a request mentions are text like any other, so nothing in the file looks like a link: mail
    and chat programs that show it would otherwise make one of it.
    """
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    safe = escape(visible(value))
    return Markup(str(safe).replace('://', ':&#47;&#47;')) if '://' in value else safe
