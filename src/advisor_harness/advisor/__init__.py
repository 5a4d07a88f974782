"""The `Advisor` capability: a second model that an agent may consult, by its provider or by a run of its own."""

from __future__ import annotations

from advisor_harness.advisor.capability import Advisor
from advisor_harness.advisor.consultation import Consultation
from advisor_harness.advisor.outcome import Outcome
from advisor_harness.advisor.spend import RoleSpend, Spend, spend

__all__ = ['Advisor', 'Consultation', 'Outcome', 'RoleSpend', 'Spend', 'spend']
