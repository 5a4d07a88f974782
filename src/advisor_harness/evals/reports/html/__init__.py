"""The report as one HTML file that needs nothing else: no other file, no server, no network, and no script to be read.

Everything that a model, a task or a policy wrote is escaped. The script, which only filters and unfolds, is the one
whose digest the page's own content policy names, so that no other script can run.
"""

from advisor_harness.evals.reports.html.document import render, render_summary

__all__ = ['render', 'render_summary']
