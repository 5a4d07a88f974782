"""Record and replay of provider HTTP traffic: a file for every concurrent case, and no network in a replay."""

from __future__ import annotations

from .cassette import Cassette, Mode
from .errors import (
    CassetteError,
    CassetteFormatError,
    SecretLeak,
    UnmatchedRequest,
    UnusedInteractions,
)
from .interaction import Interaction
from .matching import Matching
from .models import CassetteModels
from .network import no_network
from .session import cassette_client, legacy_cassette_client, use_cassette
from .transport import CassetteTransport

__all__ = [
    'Cassette',
    'CassetteError',
    'CassetteFormatError',
    'CassetteModels',
    'CassetteTransport',
    'Interaction',
    'Matching',
    'Mode',
    'SecretLeak',
    'UnmatchedRequest',
    'UnusedInteractions',
    'cassette_client',
    'legacy_cassette_client',
    'no_network',
    'use_cassette',
]
