"""The page as people meet it, in Chromium; skipped where there is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from advisor_harness.evals.reports import html
from tests.evals.reports.pages import rich

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path('/usr/bin/chromium')
ARGUMENTS = (
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
)
AUDIT = Path(__file__).with_name('audit.js').read_text(encoding='utf-8')

# How a page is opened: options of a browser context to a page that shows the report.
Opener = Callable[..., 'Page']


@pytest.fixture(scope='module')
def browser() -> Iterator[Browser]:
    """One browser with an empty profile for all tests of this file."""
    playwright = pytest.importorskip('playwright.sync_api', reason='playwright is not installed')
    if not CHROMIUM.exists():
        pytest.skip(f'there is no {CHROMIUM}')
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope='module')
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run that has something of everything."""
    folder = tmp_path_factory.mktemp('report')
    path = folder / 'report.html'
    path.write_text(html.render(*rich(folder / 'runs')), encoding='utf-8')
    return path


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Opener]:
    """Opens the report as a file; what the browser complains of or asks for fails the test."""
    contexts: list[Any] = []
    complaints: list[str] = []
    requests: list[str] = []

    def open_page(*, fragment: str = '', width: int = 1280, **options: Any) -> Page:
        context = browser.new_context(viewport={'width': width, 'height': 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on('console', lambda message: complaints.append(message.text))
        page.on('pageerror', lambda error: complaints.append(str(error)))
        page.on('request', lambda request: requests.append(request.url))
        page.goto(f'{report.as_uri()}{fragment}')
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert {url.partition('#')[0] for url in requests} == {report.as_uri()}


def unfolded(page: Page) -> Page:
    """The page with everything opened that can be."""
    page.evaluate("() => { for (const each of document.querySelectorAll('details')) each.open = true; }")
    return page


@pytest.mark.parametrize('scheme', ['light', 'dark'])
@pytest.mark.parametrize('width', [360, 1280])
def test_nobody_is_shut_out(opened: Opener, scheme: str, width: int) -> None:
    """Names, headings, landmarks, tables, focus and contrast are right in both schemes, narrow and wide."""
    page = unfolded(opened(width=width, color_scheme=scheme))
    assert page.evaluate(AUDIT) == []


def test_the_audit_sees_what_is_wrong(opened: Opener) -> None:
    """The rules above fail for a page that breaks them."""
    page = opened()
    page.evaluate("""() => {
        document.querySelector('h3').outerHTML = '<h6>deep</h6><button></button><table><tr><th>a</th></tr></table>';
        document.querySelector('.lead').style.color = '#999';
    }""")
    found = {problem.partition(':')[0] for problem in page.evaluate(AUDIT)}
    assert found >= {'heading 6 after 2', 'no name', 'no caption', 'no scope', 'contrast 2.85 of rgb(153, 153, 153)'}


@pytest.mark.parametrize('width', [360, 768, 1280])
def test_the_page_never_scrolls_sideways(opened: Opener, width: int) -> None:
    """Wide tables scroll within themselves, long words break, whatever is open."""
    page = unfolded(opened(width=width))
    assert page.evaluate('document.documentElement.scrollWidth') == width


def test_the_keyboard_reaches_everything_and_shows_where_it_is(opened: Opener) -> None:
    """The first key leads past the navigation, and every stop has a visible outline."""
    page = opened()
    page.keyboard.press('Tab')
    assert page.evaluate('document.activeElement.className') == 'skip'
    assert page.evaluate('document.activeElement.getBoundingClientRect().top >= 0')
    stops: list[str] = []
    for _ in range(200):
        page.keyboard.press('Tab')
        tag, outline, width = page.evaluate("""() => {
            const { tagName } = document.activeElement, style = getComputedStyle(document.activeElement);
            return [tagName, style.outlineStyle, parseFloat(style.outlineWidth)];
        }""")
        if tag == 'BODY':
            break
        assert (tag, outline != 'none' and width >= 2) == (tag, True)
        stops.append(tag)
    firsts = list(dict.fromkeys(stops))
    assert [tag for tag in firsts if tag != 'DIV'] == ['A', 'INPUT', 'SELECT', 'BUTTON', 'SUMMARY', 'PRE']
    page.locator('.skip').focus()
    page.keyboard.press('Enter')
    assert page.evaluate('document.activeElement.id') == 'main'


def test_a_case_opens_and_closes_by_keyboard(opened: Opener) -> None:
    """Enter and space unfold a case and fold it again."""
    page = opened()
    case = page.locator('.case > details').first
    case.locator('summary').first.focus()
    for key, is_open in (('Enter', True), ('Space', False)):
        page.keyboard.press(key)
        assert case.evaluate('each => each.open') is is_open


def test_cases_are_found_by_name_and_state(opened: Opener) -> None:
    """The filter hides what does not fit, says how much is left, and Escape takes it back."""
    page = opened()
    shown = page.locator('.case:visible')
    total = shown.count()
    page.get_by_label('Find a case').fill('LOST')
    assert (shown.count(), page.locator('#found').inner_text()) == (1, f'1 of {total} cases shown')
    page.keyboard.press('Escape')
    page.get_by_label('State').select_option('error')
    assert {each.inner_text() for each in page.locator('.case:visible .name').all()} == {'crash', 'lost'}
    page.get_by_label('State').select_option('')
    assert (shown.count(), page.locator('#found').inner_text()) == (total, '')


def test_all_cases_unfold_and_fold(opened: Opener) -> None:
    """Two buttons open and close every case."""
    page = opened()
    total = page.locator('.case > details').count()
    page.get_by_role('button', name='Expand all').click()
    assert page.locator('.case > details[open]').count() == total
    page.get_by_role('button', name='Collapse all').click()
    assert page.locator('.case > details[open]').count() == 0


@pytest.mark.parametrize('scripts', [True, False])
def test_a_link_to_a_case_opens_it(opened: Opener, scripts: bool) -> None:
    """The address of a case shows the case, with and without scripts."""
    page = opened(fragment='#s1c3', java_script_enabled=scripts)
    assert page.locator('#s1c3').is_visible()


def test_the_page_can_be_read_without_scripts(opened: Opener) -> None:
    """Without scripts nothing is missing but the filter, and cases unfold."""
    page = opened(java_script_enabled=False)
    assert page.locator('form').is_hidden()
    names = page.locator('.case .name').all_inner_texts()
    assert {'capital', 'river', 'refund', 'crash', 'lost', 'blind'} <= set(names)
    case = page.locator('.case').filter(has=page.locator('.name', has_text=re.compile('^lost$')))
    case.locator('summary').first.click()
    assert 'interaction 2 differs first' in case.locator('pre').first.inner_text()


def test_nothing_hostile_runs(opened: Opener) -> None:
    """A name that is a script is text, and the page has no dialog, image or frame."""
    page = unfolded(opened())
    assert page.locator('img, iframe, object, embed, link').count() == 0
    assert page.locator('.name').filter(has_text='alert(1)').count() == 2


def test_states_are_words_where_colours_are_forced(opened: Opener) -> None:
    """With the colours of the system, labels keep a border, bars stay visible, and every state is a word."""
    page = unfolded(opened(forced_colors='active'))
    assert page.locator('.tag').first.evaluate('each => getComputedStyle(each).borderTopStyle') == 'solid'
    bar = page.locator('.when i').first
    assert bar.evaluate('each => getComputedStyle(each).backgroundColor') != page.evaluate(
        'getComputedStyle(document.body).backgroundColor'
    )
    assert all(re.search('[a-z]', text) for text in page.locator('.tag').all_inner_texts() if not text[:1].isdigit())


def test_less_motion_is_no_motion(opened: Opener) -> None:
    """Who asks for less motion gets none."""
    page = opened(reduced_motion='reduce')
    moving = page.evaluate("""() => [...document.querySelectorAll('*')].filter(
        (each) => parseFloat(getComputedStyle(each, '::after').transitionDuration) > 0
            || parseFloat(getComputedStyle(each).transitionDuration) > 0).length""")
    assert (moving, page.evaluate('getComputedStyle(document.documentElement).scrollBehavior')) == (0, 'auto')


def test_paper_gets_the_details_and_no_controls(opened: Opener) -> None:
    """Printing unfolds the cases, leaves the navigation out, and folds them again."""
    page = opened()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media='print')
    assert page.locator('.case > details:not([open])').count() == 0
    assert page.locator('nav').is_hidden()
    assert page.pdf(format='A4').startswith(b'%PDF')
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator('.case > details[open]').count() == 0


def test_places_on_the_page_are_where_links_say(opened: Opener) -> None:
    """Every link of the contents leads to a heading that can be seen."""
    page = opened()
    for link in page.locator('nav a').all():
        link.click()
        target = page.evaluate('document.querySelector(location.hash).textContent.trim().length')
        assert target > 0
