from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

from advisor_harness.evals.records import CaseError
from advisor_harness.evals.reports import html
from advisor_harness.evals.store import RunStore
from advisor_harness.evals.verdict import RunVerdict, SuiteVerdict, Verdict
from tests.evals.reports.pages import HOSTILE, Page, many, rich
from tests.evals.reports.sample import mixed, passing, record, stored


@pytest.fixture
def text(tmp_path: Path) -> str:
    return html.render(*rich(tmp_path))


@pytest.fixture
def page(text: str) -> Page:
    return Page(text)


def test_the_page_says_its_language_title_and_verdict(page: Page) -> None:
    """The page names its language and what it is about before anything else."""
    assert page.all('html') == [{'lang': 'en'}]
    assert page.texts['title'][0] == 'INCONCLUSIVE: evals of run 20270101-120000'
    assert 'Inconclusive' in page.texts['h1']
    assert page.unclosed == []


def test_the_page_refers_to_nothing_outside_of_itself(text: str, page: Page) -> None:
    """There is no address in the file, in no form, and every link points to a place on the page."""
    assert '://' not in text
    assert 'url(' not in text
    assert [
        attributes for _, attributes in page.elements if attributes.keys() & {'src', 'srcset', 'action', 'data'}
    ] == []
    assert {link['href'] for link in page.all('a')} <= {f'#{name}' for name in page.ids()}
    assert page.all('link') == []


def test_an_address_that_a_model_mentions_reads_as_it_was(page: Page) -> None:
    """Only the source of the page spells it otherwise."""
    assert 'https://evil.example/?a=b' in page.text
    assert 'POST https://api.example.com/v1/messages' in page.text


def test_text_of_a_model_cannot_break_out(page: Page) -> None:
    """Names, reasons and outputs are text wherever they stand, and control characters are shown."""
    assert len(page.all('script')) == 1
    assert HOSTILE.replace('\x1b', '\\x1b') in page.text
    assert '\x1b' not in page.text


def test_only_the_script_of_the_page_can_run(text: str, page: Page) -> None:
    """The page's own policy allows the script with that digest, and no request at all."""
    (script,) = re.findall(r'<script>(.*?)</script>', text, flags=re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [meta['content'] for meta in page.all('meta') if 'http-equiv' in meta]
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'"
    )


def test_ids_are_unique_and_labels_exist(page: Page) -> None:
    """What refers to an id finds one, and only one."""
    ids = page.ids()
    assert len(ids) == len(set(ids))
    wanted = {
        name
        for _, attributes in page.elements
        for key in ('aria-labelledby', 'aria-describedby', 'for')
        for name in attributes.get(key, '').split()
    }
    assert wanted <= set(ids)


def test_every_case_that_needs_a_look_is_named_with_its_reason(page: Page) -> None:
    """A failing case stands on the page by name, with what is wrong."""
    for name in ('capital', 'river', 'refund', 'crash', 'lost', 'blind'):
        assert name in page.texts['span']
    assert 'TimeoutError in the task: no answer' in page.text
    assert 'nearest    interaction 2 differs first at $.messages[4].content[0].text, character 14' in page.text
    assert 'UnmatchedRequest: no' in page.text


def test_gates_have_their_denominators_and_changes(page: Page) -> None:
    """A gate shows value, denominator, limit, baseline, change with its direction in words, interval and p."""
    assert '0.750 4/4 >= 0.9 1 -0.250 regressed' in page.words
    assert '0.250 4/4 >= 0.05 0.200 +0.05 improved 0.08 to 0.330 p = 0.012' in page.words
    assert '210 4/4 shown only 200 +10 changed' in page.words


def test_what_moved_flipped_and_was_set_aside_is_told(page: Page) -> None:
    """Movers are ordered by size, flips are counted by direction, quarantine names its reasons."""
    assert page.words.index('right advised 1 → 0.750') < page.words.index('lift advised 0.200 → 0.250')
    assert '1 worse, 1 better, 0 otherwise.' in page.words
    assert 'flaky [advised] , ok: issue 7' in page.words
    assert 'Compared with baseline main, run 20261201-080000, 8 pairs; 1 added: new; 1 renamed: old.' in page.words
    assert 'Right: a drop of 21.4 pp or more is seen in 80% of runs (n=30).' in page.words
    assert 'river : expired, counts again: issue 3 (until 2026-11-01)' in page.words


def test_what_the_verdict_rests_on_is_told(page: Page) -> None:
    """Each kind of recording says what it proves, and a narrowed run what it does not speak for."""
    assert 'Emulator 4 recordings These answers were authored.' in page.words
    assert 'Provider 8 recordings A model of a provider gave these answers' in page.words
    assert "Narrowed run: tag 'hard'. The verdict speaks for no more than that." in page.words


def test_a_case_shows_what_was_said_and_done(page: Page) -> None:
    """Conversation, advice and spans of a case stand under it."""
    assert 'Asks the advisor What would you do?' in page.words
    assert 'Advice Refund: the parcel was lost.' in page.words
    assert 'advised by opus, local, 70 in, 12 out' in page.words
    assert 'chat opus failed: overloaded, try again 40.0 ms' in page.words


def test_arms_are_compared_in_a_picture_and_a_table(page: Page) -> None:
    """The picture has a text of its own, and the table the same numbers with their denominators."""
    assert 'solo: 50 % of 4 passed, at $0.001 a case. advised: 75 % of 4 passed, at $0.0035 a case.' in page.words
    assert 'advised beside solo: of 4 pairs, 2 helped and 1 harmed.' in page.words


def test_a_run_of_a_thousand_cases_stays_small(tmp_path: Path) -> None:
    """What does not fit is named in one line each, and counted."""
    text = html.render(*many(tmp_path, 1000, 700))
    page = Page(text)
    assert len(text) < 5_000_000
    assert {f'case-{n:04}' for n in range(700)} <= set(page.texts['span'])
    (note,) = re.findall(r'([0-9]+) cases of 700 to look at named without details', text)
    assert 700 - text.count('<h5>Output</h5>') == int(note)
    assert '300 other cases listed without details.' in text
    assert 'advisor-harness trace 20270101-120000 CASE' in text


def test_cases_without_fault_get_the_room_that_is_left(tmp_path: Path) -> None:
    """A passing run shows some of its cases in full and folds the others into rows."""
    text = html.render(*many(tmp_path, 100, 0))
    assert text.count('<h5>Output</h5>') == 60
    assert '40 other cases listed without details.' in text
    assert '40 cases in one line each' in text


def test_long_texts_are_cut_with_a_count(tmp_path: Path) -> None:
    """An output says how much of it is not shown."""
    assert f'{"x" * 6_000}... (3000 more characters)' in html.render(*many(tmp_path, 1, 1))


def test_a_run_without_suites_and_one_that_passes_have_pages(tmp_path: Path) -> None:
    """The smallest runs are pages too, and say what they are."""
    nothing = Page(html.render(RunVerdict(run_id='r', suites=()), stored(tmp_path / 'none')))
    assert 'no suite was judged' in nothing.text
    assert 'No recording was played.' in nothing.text
    fine = Page(html.render(*passing(tmp_path / 'fine')))
    assert 'Every gate holds. Exit code 0.' in fine.words
    assert 'Needs attention' not in fine.text


def test_failed_cases_of_a_passing_suite_block_nothing(tmp_path: Path) -> None:
    """Where every gate holds, the page says that what failed does not block."""
    store = stored(tmp_path, record('s', 'a', state='error', scores={}, error=CaseError('E', 'no', 'task')))
    suite = SuiteVerdict(suite='s', regime='sampled', verdict=Verdict.PASS)
    assert 'None of these blocks anything' in html.render(RunVerdict(run_id='r', suites=(suite,)), store)


def test_a_page_of_every_verdict_is_the_same_every_time(tmp_path: Path) -> None:
    """Nothing on the page depends on when or where it was rendered."""
    verdict, store = mixed(tmp_path)
    assert html.render(verdict, store) == html.render(verdict, store)
    assert str(tmp_path) not in html.render(verdict, store)


def test_a_run_whose_attachments_were_removed_has_a_page(tmp_path: Path) -> None:
    """Spans and messages may be deleted to save room: the page says what is lost."""
    verdict, store = many(tmp_path, 2, 1)
    (store.folder / 'spans' / 's.jsonl').unlink()
    (store.folder / 'messages' / 's.jsonl').write_text('')
    page = Page(html.render(verdict, RunStore(store.folder)))
    assert 'spans: the run does not hold them any more' in page.words
    assert 'messages: the run does not hold them any more' in page.words
