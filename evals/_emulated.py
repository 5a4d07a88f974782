"""Recording from the emulator in `tests/emulator`, for providers that cannot be called from here.

Needed for recording only. Cassettes keep the providers' own addresses and say that an emulator answered.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from advisor_harness import __version__
from advisor_harness.evals import Recording

ORIGINS = ('https://api.anthropic.com', 'https://api.openai.com', 'https://openrouter.ai')
REFUSED = 'http://refused.invalid'
"""Nobody listens here."""


def emulating(script: str) -> Callable[[], AbstractAsyncContextManager[Recording]]:
    """Record with the answers of a script in this folder."""

    @asynccontextmanager
    async def recording() -> AsyncGenerator[Recording]:
        from tests.emulator import refusing, serve

        async with serve(Path(__file__).with_name(script)) as origin:
            with refusing() as nobody:
                yield Recording(
                    recorded_with={
                        'by': 'emulator',
                        'model': f'scripted answers, evals/{script}',
                        'tool': 'tests/emulator',
                        'version': __version__,
                    },
                    upstream={**dict.fromkeys(ORIGINS, origin), REFUSED: nobody},
                )

    return recording
