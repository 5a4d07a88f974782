"""Files: those a model made, those that were uploaded to a provider, and those the target cannot read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast, get_args
from urllib.parse import urlsplit

from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    CachePoint,
    DocumentMediaType,
    DocumentUrl,
    FilePart,
    FileUrl,
    ImageUrl,
    ModelRequest,
    ModelRequestPart,
    ModelResponsePart,
    TextPart,
    ToolReturnPart,
    UploadedFile,
    UserContent,
    UserPromptPart,
    VideoUrl,
)

from advisor_harness.routing.portability.draft import USER, Draft, Entry
from advisor_harness.routing.portability.options import Action
from advisor_harness.routing.portability.target import Target

__all__ = ['convert_model_file', 'convert_request_files', 'reads_upload']

_DOCUMENTS = frozenset(get_args(DocumentMediaType))
_NO_UPLOADS = ('cohere', 'groq', 'huggingface', 'mistral', 'openrouter', 'other')


def convert_model_file(
    draft: Draft, entry: Entry, n: int, part: FilePart, shown: list[UserContent]
) -> list[ModelResponsePart]:
    """A file a model made: it is added to `shown`, for the user's next turn, or named in the text of its own."""
    action = draft.portability.model_files
    file = part.content
    draft.report(entry, n, 'model_file', action, f'A file the model made ({file.media_type}) {_MADE[action]}.')
    if action != 'convert':
        return []
    if _unreadable(file, draft.target) is None:
        shown.extend(['The assistant made this file:', replace(file, vendor_metadata=None)])
        return []
    return [TextPart(f'[A file was made here ({file.media_type}); it is not shown.]')]


def convert_request_files(draft: Draft, entry: Entry) -> Entry:
    """A request with what the target cannot read named instead, or left out."""
    message = entry.message
    if not isinstance(message, ModelRequest):
        return entry
    parts = [_request_part(draft, entry, n, part) for n, part in enumerate(message.parts)]
    if all(new is old for new, old in zip(parts, message.parts, strict=True)):
        return entry
    return entry.rewritten(replace(message, parts=parts))


def reads_upload(file: UploadedFile, target: Target) -> bool:
    """Whether the target's API takes the id of an uploaded file."""
    if file.provider_name not in target.names or target.family in _NO_UPLOADS:
        return False
    if target.family == 'chat':
        # Chat Completions knows the ids of documents only.
        return not file.media_type.startswith('image/')
    return True


def _request_part(draft: Draft, entry: Entry, n: int, part: ModelRequestPart) -> ModelRequestPart:
    if isinstance(part, UserPromptPart) and not isinstance(part.content, str):
        content = _contents(draft, entry, n, part.content, returned=False)
        return part if content is None else replace(part, content=content)
    if isinstance(part, ToolReturnPart) and part.files:
        return _tool_return(draft, entry, n, cast('ToolReturnPart[Any]', part))
    return part


def _tool_return(draft: Draft, entry: Entry, n: int, part: ToolReturnPart[Any]) -> ToolReturnPart[Any]:
    held: Any = part.content
    if isinstance(held, list):
        content = _contents(draft, entry, n, cast('list[Any]', held), returned=True)
        return part if content is None else replace(part, content=content)
    content = _contents(draft, entry, n, [held], returned=True)
    return part if content is None else replace(part, content=content[0])


def _contents(draft: Draft, entry: Entry, n: int, items: Sequence[Any], *, returned: bool) -> list[Any] | None:
    """The items as the target reads them; `None` if it reads all of them as they are."""
    found: list[Any] = []
    for item in items:
        kept = _content(draft, entry, n, item, returned=returned)
        # The mark of a prefix to cache needs something before it.
        if kept is not None and not (isinstance(kept, CachePoint) and not found):
            found.append(kept)
    if len(found) == len(items) and all(new is old for new, old in zip(found, items, strict=True)):
        return None
    return found or ['[A file was here; it is not shown.]']


def _content(draft: Draft, entry: Entry, n: int, item: Any, *, returned: bool) -> Any:
    if isinstance(item, UploadedFile):
        return item if reads_upload(item, draft.target) else _upload(draft, entry, n, item)
    if not isinstance(item, BinaryContent | FileUrl):
        return item
    if (what := _unreadable(item, draft.target)) is None:
        return item
    action = draft.portability.media
    if returned and action == 'raise':
        # The user did not choose to send what a tool returned; pydantic-ai sends a note in its place, too.
        action = 'convert'
    draft.report_from(USER, entry, n, 'media', action, f'{what} cannot be read by the model and {_MEDIA[action]}.')
    return _kept(item, action, f'[A file was here ({what}) that this model cannot read.]')


def _upload(draft: Draft, entry: Entry, n: int, file: UploadedFile) -> Any:
    action = draft.portability.uploaded_files
    fetched = draft.portability.resolve_file is not None and action != 'drop'
    done = 'is fetched' if fetched else _UPLOADS[action]
    detail = f'A file ({file.media_type}) uploaded to {file.provider_name!r} {done}.'
    draft.report_from(file.provider_name, entry, n, 'uploaded_file', 'convert' if fetched else action, detail)
    if fetched:
        return file
    return _kept(file, action, f'[A file was here ({file.media_type}) that this model has no access to.]')


def _kept(item: Any, action: Action, note: str) -> Any:
    return {'convert': note, 'drop': None, 'raise': item}[action]


def _unreadable(item: BinaryContent | FileUrl, target: Target) -> str | None:
    """What the file is, if the target cannot read it."""
    if isinstance(item, FileUrl) and (scheme := _scheme(item.url)) not in _schemes(target):
        return f'A file at a {scheme}:// address'
    if _is(item, ImageUrl, 'is_image'):
        return None if target.flag('supports_image_input', True) else 'An image'
    if _is(item, AudioUrl, 'is_audio'):
        return None if target.flag('supports_audio_file_input', True) else 'Audio'
    if _is(item, VideoUrl, 'is_video'):
        return None if target.flag('supports_video_input', True) else 'A video'
    if _is(item, DocumentUrl, 'is_document'):
        return None if _reads_document(item, target) else 'A document'
    return None


def _is(item: BinaryContent | FileUrl, url: type[FileUrl], flag: str) -> bool:
    return isinstance(item, url) or (isinstance(item, BinaryContent) and bool(getattr(item, flag)))


def _reads_document(item: BinaryContent | FileUrl, target: Target) -> bool:
    if not target.flag('supports_document_input', True):
        return False
    supported = target.profile.get('supported_document_media_types', _DOCUMENTS)
    try:
        kind = item.media_type
    except ValueError:  # an address that says nothing about what it leads to
        return True
    return kind not in _DOCUMENTS or kind in supported


def _scheme(url: str) -> str:
    try:
        return urlsplit(url).scheme
    except ValueError:  # no address; whether the target takes it is its own to say
        return url.partition(':')[0].lower()


def _schemes(target: Target) -> tuple[str, ...]:
    if target.family == 'bedrock':
        return ('http', 'https', 's3')
    if target.family == 'google':
        return ('http', 'https', 'gs') if 'google-cloud' in target.names else ('http', 'https')
    return ('http', 'https', 'data')


_MADE = {'convert': 'is shown in the next user turn, or named', 'drop': 'is left out', 'raise': 'cannot be sent back'}
_MEDIA = {'convert': 'is named in its place', 'drop': 'is left out', 'raise': 'is not to be left out'}
_UPLOADS = {'convert': 'is named in its place', 'drop': 'is left out', 'raise': 'cannot be read by another provider'}
