"""Requests of Anthropic's Messages API, read back."""

from __future__ import annotations

from typing import Any

from pydantic_ai.messages import ImageUrl, InstructionPart, SystemPromptPart, UserContent, UserPromptPart
from pydantic_ai.native_tools import AdvisorTool, CodeExecutionTool, WebSearchTool
from pydantic_ai.tools import ToolDefinition

from .drift_reading import Asked, Conversation, Members, NotChecked, binary, tool_parameters

__all__ = ['read']

_SETTINGS = {
    'temperature': 'temperature',
    'top_p': 'top_p',
    'top_k': 'top_k',
    'stop_sequences': 'stop_sequences',
    'thinking': 'anthropic_thinking',
    'metadata': 'anthropic_metadata',
    'service_tier': 'anthropic_service_tier',
}

_FORMER_MAX_TOKENS = 4096
"""What Pydantic AI has once sent by itself."""


def read(body: Any, defaults: bool) -> Asked:
    """Read a request; with `defaults`, values that Pydantic AI has once sent by itself count as not given.

    Raises:
        NotChecked: it holds something that is not understood.
    """
    members = Members(body)
    members.required('model')
    settings = members.settings(_SETTINGS)
    most = members.take('max_tokens')
    if most is not None and not (defaults and most == _FORMER_MAX_TOKENS):
        settings['max_tokens'] = most
    conversation = Conversation()
    instructions: list[InstructionPart] = []
    if isinstance(members.peek('system'), str):
        conversation.ask(SystemPromptPart(members.take('system')))
    else:
        # Instructions are sent as blocks, prompts of the conversation as one text.
        instructions = [InstructionPart(_text(block)) for block in members.objects('system')]
    for message in members.objects('messages'):
        _message(message, conversation)
    tools, native = _tools(members)
    must_call = _choice(members.object('tool_choice'), settings)
    stream = bool(members.take('stream'))
    members.end()
    parameters = tool_parameters(tools, must_call=must_call, native=native)
    parameters.instruction_parts = instructions or None
    return Asked(turns=conversation.turns, settings=settings, parameters=parameters, stream=stream)


def _texts(members: Members, name: str) -> list[str]:
    """A member that is a text, or a list of blocks of text."""
    if isinstance(text := members.peek(name), str):
        members.take(name)
        return [text] if text else []
    return [_text(block) for block in members.objects(name)]


def _text(block: Members) -> str:
    if (kind := block.required('type')) != 'text':
        raise NotChecked(f'a {kind!r} block is not understood where text is expected')
    text = block.required('text')
    block.end()
    return text


def _message(message: Members, conversation: Conversation) -> None:
    role, content = message.required('role'), message.peek('content')
    if role == 'system':
        for text in _texts(message, 'content'):
            conversation.ask(SystemPromptPart(text))
    elif role == 'assistant':
        blocks = (
            [{'type': 'text', 'text': message.take('content')}] if isinstance(content, str) else message.list('content')
        )
        calls = {block['id']: block['name'] for block in blocks if block.get('type') == 'tool_use'}
        conversation.answered(_answer(blocks), calls)
    elif isinstance(content, str):
        conversation.ask(UserPromptPart(message.take('content')))
    else:
        for block in message.objects('content'):
            _user_block(block, conversation)
    message.end()


def _answer(blocks: list[Any]) -> dict[str, Any]:
    return {
        'id': 'msg_check',
        'type': 'message',
        'role': 'assistant',
        'model': 'recorded',
        'content': blocks,
        # A turn that was cut at a tool of the provider was sent back to be resumed.
        'stop_reason': 'pause_turn' if blocks and blocks[-1].get('type') == 'server_tool_use' else 'end_turn',
        'stop_sequence': None,
        'usage': {'input_tokens': 1, 'output_tokens': 1},
    }


def _user_block(block: Members, conversation: Conversation) -> None:
    if (kind := block.take('type')) == 'tool_result':
        texts = _texts(block, 'content') or ['']
        if len(texts) != 1:
            raise NotChecked('a tool result of several blocks is not understood')
        failed = bool(block.take('is_error'))
        conversation.returned(block.required('tool_use_id'), texts[0], failed=failed)
    elif kind == 'text':
        conversation.ask(UserPromptPart(block.required('text')))
    elif kind == 'image':
        conversation.ask(UserPromptPart([_image(block.object('source'))]))
    else:
        raise NotChecked(f'a {kind!r} block of the user is not understood')
    block.end()


def _image(source: Members) -> UserContent:
    kind = source.required('type')
    image = (
        binary(source.required('data'), source.required('media_type'))
        if kind == 'base64'
        else ImageUrl(source.required('url'))
    )
    source.end()
    return image


def _tools(members: Members) -> tuple[list[ToolDefinition], list[Any]]:
    functions: list[ToolDefinition] = []
    native: list[Any] = []
    for tool in members.objects('tools'):
        kind, name = str(tool.take('type') or 'custom'), tool.required('name')
        if kind == 'custom':
            functions.append(_function(name, tool))
        else:
            native.append(_native(kind, tool))
        tool.end()
    return functions, native


def _function(name: str, members: Members) -> ToolDefinition:
    return ToolDefinition(
        name=name,
        description=members.take('description'),
        parameters_json_schema=members.required('input_schema'),
        strict=members.take('strict'),
    )


def _native(kind: str, members: Members) -> Any:
    if kind.startswith('advisor_'):
        options = _taken(members, ('max_uses', 'max_tokens'))
        caching = members.object('caching')
        caching.take('type')
        tool = AdvisorTool(model=members.required('model'), caching=caching.take('ttl'), **options)
        caching.end()
        return tool
    if kind.startswith('web_search_'):
        names = ('max_uses', 'allowed_domains', 'blocked_domains')
        return WebSearchTool(user_location=_location(members.take('user_location')), **_taken(members, names))
    if kind.startswith('code_execution_'):
        return CodeExecutionTool()
    raise NotChecked(f'the native tool {kind!r} is not understood')


def _taken(members: Members, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: members.take(name) for name in names}


def _location(location: Any) -> Any:
    return location and {name: value for name, value in location.items() if name != 'type'}


def _choice(choice: Members, settings: dict[str, Any]) -> bool:
    """Whether the model must call a tool."""
    if (parallel := choice.take('disable_parallel_tool_use')) is not None:
        settings['parallel_tool_calls'] = not parallel
    kind = choice.take('type', 'auto')
    if kind == 'tool':
        settings['tool_choice'] = [choice.required('name')]
    elif kind == 'none':
        settings['tool_choice'] = 'none'
    choice.end()
    return kind == 'any'
