"""Reports of a judged run: `terminal`, `markdown`, `junit`, `json_lines`, and `write_all`, which keeps them beside it.

Every report is rendered from the verdict that decides the exit code and from the records that it was judged on.
"""

from advisor_harness.evals.reports.files import StoredRun, write_all
from advisor_harness.evals.reports.summary import Records

__all__ = ['Records', 'StoredRun', 'write_all']
