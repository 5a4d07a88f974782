"""Scorers: pydantic-evals evaluators for what an advisor does, grouped by what they read."""

from __future__ import annotations

from typing import Any

from pydantic_evals.evaluators import Evaluator

__all__ = ['ALL']

ALL: tuple[type[Evaluator[Any, Any, Any]], ...] = ()
"""Every scorer of this package, for datasets that name them in a file."""
