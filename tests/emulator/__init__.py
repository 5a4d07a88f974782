"""An emulator of LLM providers on the loopback, for recording the suites and for tests.

    from tests.emulator import serve

    async with serve('evals/failure_modes/script.yaml') as origin:
        ...  # record with upstream={'https://api.anthropic.com': origin, 'https://api.openai.com': origin}

It speaks Anthropic Messages (`/v1/messages`, with the server tool `advisor_20260301`), OpenAI Chat Completions
(`/v1/chat/completions`) and Responses (`/v1/responses`), and OpenRouter (`/api/v1/chat/completions`, with the server
tool `openrouter:advisor`), plain and streamed. The format of scripts is described in `tests.emulator.script`.
"""

from .script import ADVISOR_ERRORS, Script, ScriptError, load_script
from .server import EmulatorError, refusing, serve, serving

__all__ = [
    'ADVISOR_ERRORS',
    'EmulatorError',
    'Script',
    'ScriptError',
    'load_script',
    'refusing',
    'serve',
    'serving',
]
