"""Runs `Program` as a flow on Prefect's ephemeral server: `on_prefect.py FOLDER start|resume STEP_TO_DIE_AT|never`."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from prefect import flow, get_client
from prefect.flow_engine import run_flow_async
from prefect.states import Pending
from pydantic_ai.durable_exec.prefect import PrefectDurability

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.advisor.durable.program import Program, dying_step

folder, command, die_at = Path(sys.argv[1]), *sys.argv[2:]
program = Program(folder / 'journal.txt', PrefectDurability(), die_at=dying_step(die_at))


@flow(persist_result=True)
async def work() -> dict[str, Any]:
    return await program.work()


async def resume() -> dict[str, Any]:
    """Take the flow run of the dead process up again, as a worker would that is told to execute it."""
    async with get_client() as client:
        (flow_run,) = await client.read_flow_runs()
        await client.set_flow_run_state(flow_run.id, Pending(), force=True)
        return await run_flow_async(work, flow_run=await client.read_flow_run(flow_run.id), parameters={})


if __name__ == '__main__':
    sys.stdout.write(json.dumps(asyncio.run(work() if command == 'start' else resume())))
