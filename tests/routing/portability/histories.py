"""Random histories of every kind of part, by every provider, with opaque data that must not reach another place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    BinaryImage,
    CachePoint,
    CompactionPart,
    DocumentUrl,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    SpeechPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
    UserPromptPart,
    VideoUrl,
)

from advisor_harness import Portability

__all__ = ['OPAQUE', 'histories', 'policies']

OPAQUE = 'T1BBUVVF'
"""Stands in everything that only its provider can read; valid base64, as some signatures are decoded."""

PROVIDERS = ('anthropic', 'bedrock', 'google', 'groq', 'mistral', 'moonshotai', 'openai', 'openrouter', None)
ELSEWHERE = 'https://elsewhere.example/v1'
PNG = BinaryImage(b'\x89PNG\r\n', media_type='image/png')

texts = st.sampled_from(['Hello.', 'Was wäre, wenn?', '再见', '</earlier_tool_result>', 'a' * 200])
call_ids = st.sampled_from(
    ['call_1', 'functions.get_weather:0', 'call_1|fc_1', 'x' * 80, 'toolu_01A', 'abcdefghi', 'ü', 'a.b', 'a:b']
)


def histories(url: str | None = ELSEWHERE) -> st.SearchStrategy[list[ModelMessage]]:
    """Histories as an agent leaves them: requests and responses in turn, every call answered in the next request.

    At an address of their own the providers are none of the targets; without one, those of a target's name are.
    """
    return st.lists(turns(url), max_size=4).map(lambda found: [message for turn in found for message in turn])


@st.composite
def turns(draw: Callable[[Any], Any], url: str | None) -> list[ModelMessage]:
    """What a user asks, what a model answers, and the results of the calls it makes."""
    asked = ModelRequest(parts=[*draw(st.lists(system_parts(), max_size=1)), draw(user_parts())])
    response = draw(responses(url))
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    if not calls:
        return [asked, response]
    results = [ToolReturnPart(call.tool_name, draw(returned()), call.tool_call_id) for call in calls]
    return [asked, response, ModelRequest(parts=results), draw(responses(url, calls=False))]


def system_parts() -> st.SearchStrategy[SystemPromptPart]:
    return st.builds(SystemPromptPart, texts)


def user_parts() -> st.SearchStrategy[UserPromptPart]:
    return st.builds(UserPromptPart, texts | st.lists(user_items(), min_size=1, max_size=3))


def user_items() -> st.SearchStrategy[Any]:
    return st.one_of(
        texts,
        st.sampled_from(
            [
                PNG,
                CachePoint(),
                ImageUrl('s3://bucket/a.png'),
                AudioUrl('gs://bucket/a.mp3'),
                VideoUrl('gs://bucket/a.mp4'),
                DocumentUrl('gs://bucket/a.pdf'),
                BinaryContent(b'RIFF', media_type='audio/wav'),
                BinaryContent(b'....', media_type='video/mp4'),
                BinaryContent(b'%PDF-1.4', media_type='application/pdf'),
                *(UploadedFile(f'file_{OPAQUE}', provider_name=p, media_type='application/pdf') for p in FOREIGN),
            ]
        ),
    )


def returned() -> st.SearchStrategy[Any]:
    held = [{'a': 1}, [1, 2], None, PNG, ['see', PNG], BinaryContent(b'....', media_type='video/mp4')]
    return texts | st.sampled_from(held)


@st.composite
def responses(draw: Callable[[Any], Any], url: str | None, calls: bool = True) -> ModelResponse:
    """A response of one place, marked as providers mark theirs."""
    provider = draw(st.sampled_from(PROVIDERS))
    parts: list[ModelResponsePart] = []
    for n, kind in enumerate(draw(st.lists(st.sampled_from([*KINDS, *(['call'] * calls)]), max_size=4))):
        parts.extend(_parts(draw, kind, provider, n))
    return ModelResponse(
        parts=parts,
        provider_name=provider,
        provider_url=url,
        provider_response_id=f'resp_{OPAQUE}',
        provider_details={'container_id': f'container_{OPAQUE}', 'conversation_id': f'conv_{OPAQUE}'},
        model_name='some-model',
    )


KINDS = (
    'text',
    'blank',
    'thinking',
    'encrypted',
    'bare',
    'native',
    'advice',
    'file',
    'compaction',
    'summary',
    'speech',
)


def _parts(draw: Callable[[Any], Any], kind: str, provider: str | None, n: int) -> list[ModelResponsePart]:
    named: dict[str, Any] = {'provider_name': provider}
    opaque: dict[str, Any] = {**named, 'provider_details': {'encrypted_content': OPAQUE, 'thought_signature': OPAQUE}}
    match kind:
        case 'text':
            return [TextPart(draw(texts), id=f'msg_{OPAQUE}', **named)]
        case 'blank':
            return [TextPart(draw(st.sampled_from(['', ' \n'])))]
        case 'thinking':
            return [ThinkingPart(draw(texts), id=f'rs_{OPAQUE}', signature=OPAQUE, **named)]
        case 'encrypted':
            return [ThinkingPart('', id='redacted_thinking', signature=OPAQUE, **named)]
        case 'bare':
            return [ThinkingPart(draw(texts))]
        case 'call':
            return [
                ToolCallPart('get_weather', {'city': 'Rom'}, f'{draw(call_ids)}{n or ""}', id=f'fc_{OPAQUE}', **opaque)
            ]
        case 'native':
            found: list[Any] = [{'url': 'https://x.example', 'title': 'X', 'encrypted_content': OPAQUE}]
            call = NativeToolCallPart('web_search', {'query': 'x'}, f'srvtoolu_{OPAQUE}', **opaque)
            return [call, NativeToolReturnPart('web_search', found, f'srvtoolu_{OPAQUE}', **opaque)]
        case 'advice':
            read = draw(st.sampled_from([{'text': 'Be bold.'}, {'encrypted_content': OPAQUE}, {'error_code': 'x'}]))
            call = NativeToolCallPart('advisor', {}, f'adv_{OPAQUE}', **named)
            return [call, NativeToolReturnPart('advisor', read, f'adv_{OPAQUE}', **named)]
        case 'file':
            return [FilePart(draw(st.sampled_from([PNG, BinaryContent(b'a,b', media_type='text/csv')])), **opaque)]
        case 'compaction':
            return [CompactionPart(id=f'cmp_{OPAQUE}', **opaque)]
        case 'summary':
            return [CompactionPart('What was said.', **named)]
        case _:
            return [SpeechPart(speaker='assistant', transcript='Hm.')]


def policies() -> st.SearchStrategy[Portability]:
    """All rules, those that let a request go through more often than not."""
    action = st.sampled_from(['convert', 'convert', 'drop', 'raise'])
    names = ('thinking', 'native_tools', 'model_files', 'uploaded_files', 'media', 'compaction', 'server_state')
    lenient = {name: st.sampled_from(['convert', 'drop']) for name in names}
    strict = dict.fromkeys(names, action)
    return st.one_of(st.builds(Portability, **lenient), st.builds(Portability, **strict))


FOREIGN = ('xai', 'google-cloud')
