"""Reports of a judged run: `terminal`, `markdown`, `html`, `junit` and `json_lines`; `write_all` keeps them beside it.

Every report is rendered from the verdict that decides the exit code and from the records that it was judged on.
"""

from advisor_harness.evals.reports.files import write_all

__all__ = ['write_all']
