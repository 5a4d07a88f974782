"""Runs `Program` as a workflow of DBOS on SQLite: `on_dbos.py FOLDER start|resume STEP_TO_DIE_AT|never`."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID
from pydantic_ai.durable_exec.dbos import DBOSDurability

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.advisor.durable.program import Program, dying_step

folder, command, die_at = Path(sys.argv[1]), *sys.argv[2:]
DBOS(
    config=DBOSConfig(
        name='advised', system_database_url=f'sqlite:///{folder}/dbos.sqlite', log_level='ERROR', run_admin_server=False
    )
)
program = Program(folder / 'journal.txt', DBOSDurability(), die_at=dying_step(die_at))


@DBOS.workflow()
async def work() -> dict[str, Any]:
    return await program.work()


async def main() -> None:
    if command == 'start':
        with SetWorkflowID('the-workflow'):
            handle = await DBOS.start_workflow_async(work)
    else:
        handle = await DBOS.retrieve_workflow_async('the-workflow')
    sys.stdout.write(json.dumps(await handle.get_result()))


if __name__ == '__main__':
    DBOS.launch()  # recovers what a dead process left
    asyncio.run(main())
    DBOS.destroy()
