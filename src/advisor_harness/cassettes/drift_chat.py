"""Requests of OpenAI's Chat Completions API and of those that follow it (OpenRouter, Groq, Mistral), read back."""

from __future__ import annotations

import re
from typing import Any

from pydantic_ai.messages import BinaryContent, ImageUrl, SystemPromptPart, UserContent, UserPromptPart
from pydantic_ai.native_tools import AdvisorTool, WebSearchTool
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition

from .drift_reading import Asked, Conversation, Members, NotChecked, tool_parameters

__all__ = ['read']

_SETTINGS = {
    'temperature': 'temperature',
    'top_p': 'top_p',
    'max_tokens': 'max_tokens',
    'max_completion_tokens': 'max_tokens',
    'seed': 'seed',
    'random_seed': 'seed',
    'stop': 'stop_sequences',
    'presence_penalty': 'presence_penalty',
    'frequency_penalty': 'frequency_penalty',
    'parallel_tool_calls': 'parallel_tool_calls',
    'logit_bias': 'logit_bias',
    'reasoning_effort': 'openai_reasoning_effort',
    'service_tier': 'openai_service_tier',
    'logprobs': 'openai_logprobs',
    'top_logprobs': 'openai_top_logprobs',
    'store': 'openai_store',
    'verbosity': 'openai_text_verbosity',
    'user': 'openai_user',
    'prompt_cache_key': 'openai_prompt_cache_key',
    # OpenRouter's own
    'models': 'openrouter_models',
    'provider': 'openrouter_provider',
    'preset': 'openrouter_preset',
    'transforms': 'openrouter_transforms',
    'reasoning': 'openrouter_reasoning',
    'usage': 'openrouter_usage',
}

# Thoughts are sent between tags on lines of their own, which are no part of them.
_THOUGHT = re.compile(r'<think>\n(.*?)\n</think>', re.DOTALL)

_DERIVED = ('n', 'stream_options')
"""Members that no setting makes: what is sent today is up to Pydantic AI."""


def read(body: Any, defaults: bool) -> Asked:
    """Read a request; no value of it is one that Pydantic AI has sent by itself, whatever `defaults` says.

    Raises:
        NotChecked: it holds something that is not understood.
    """
    members = Members(body)
    members.required('model')
    for name in _DERIVED:
        members.take(name)
    settings = members.settings(_SETTINGS)
    conversation = Conversation()
    for message in members.objects('messages'):
        _message(message, conversation)
    tools, native = _tools(members)
    must_call = _choice(members, settings)
    output = _output(members.object('response_format'))
    stream = bool(members.take('stream'))
    members.end()
    parameters = tool_parameters(tools, must_call=must_call, native=native, output=output)
    return Asked(turns=conversation.turns, settings=settings, parameters=parameters, stream=stream)


def _message(message: Members, conversation: Conversation) -> None:
    role = message.required('role')
    if role in ('system', 'developer'):
        conversation.ask(SystemPromptPart(_plain(message)))
    elif role == 'user':
        conversation.ask(UserPromptPart(_user(message)))
    elif role == 'tool':
        message.take('name')
        conversation.returned(message.required('tool_call_id'), _plain(message))
    elif role == 'assistant':
        _assistant(message, conversation)
    else:
        raise NotChecked(f'the role {role!r} is not understood')
    message.end()


def _assistant(message: Members, conversation: Conversation) -> None:
    content, calls = message.take('content'), message.list('tool_calls')
    extra = {
        name: value
        for name in ('reasoning', 'reasoning_content', 'reasoning_details', 'refusal')
        if (value := message.take(name)) is not None
    }
    message.take('prefix')
    if isinstance(content, str):
        content = _THOUGHT.sub(r'<think>\1</think>', content)
    said = {'role': 'assistant', 'content': content, **extra, **({'tool_calls': calls} if calls else {})}
    conversation.answered(
        _answer(said, 'tool_calls' if calls else 'stop'), {call['id']: call['function']['name'] for call in calls}
    )


def _answer(message: dict[str, Any], reason: str) -> dict[str, Any]:
    # `provider` and `native_finish_reason` are in every answer of OpenRouter; the others ignore them.
    choice = {'index': 0, 'message': message, 'finish_reason': reason, 'native_finish_reason': reason}
    return {
        'id': 'chatcmpl-check',
        'object': 'chat.completion',
        'created': 1,
        'model': 'recorded',
        'provider': 'recorded',
        'choices': [choice],
        'usage': {'prompt_tokens': 1, 'completion_tokens': 1, 'total_tokens': 2},
    }


def _plain(message: Members) -> str:
    if isinstance(text := message.take('content'), str):
        return text
    raise NotChecked('a message of several parts is not understood here')


def _user(message: Members) -> str | list[UserContent]:
    if isinstance(message.peek('content'), str):
        return message.take('content')
    return [_user_part(part) for part in message.objects('content')]


def _user_part(part: Members) -> UserContent:
    kind = part.required('type')
    if kind == 'text':
        found: UserContent = part.required('text')
    elif kind == 'image_url':
        found = _image(part.object('image_url'))
    else:
        raise NotChecked(f'a {kind!r} part of the user is not understood')
    part.end()
    return found


def _image(image: Members) -> UserContent:
    url, detail = image.required('url'), image.take('detail')
    image.end()
    metadata = {'detail': detail} if detail else None
    if url.startswith('data:'):
        file = BinaryContent.from_data_uri(url)
        file.vendor_metadata = metadata
        return file
    return ImageUrl(url, vendor_metadata=metadata)


def _tools(members: Members) -> tuple[list[ToolDefinition], list[Any]]:
    functions: list[ToolDefinition] = []
    native: list[Any] = []
    for tool in members.objects('tools'):
        if (kind := tool.required('type')) == 'function':
            functions.append(_function(tool.object('function')))
        elif kind == 'openrouter:advisor':
            native.append(_advisor(tool.object('parameters')))
        else:
            raise NotChecked(f'the native tool {kind!r} is not understood')
        tool.end()
    if (search := members.take('web_search_options')) is not None:
        native.append(WebSearchTool(**search))
    return functions, native


def _function(members: Members) -> ToolDefinition:
    tool = ToolDefinition(
        name=members.required('name'),
        description=members.take('description'),
        parameters_json_schema=members.take('parameters', {'type': 'object', 'properties': {}}),
        strict=members.take('strict'),
    )
    members.end()
    return tool


def _advisor(parameters: Members) -> AdvisorTool:
    parameters.take('forward_transcript')
    tool = AdvisorTool(model=parameters.required('model'), max_tokens=parameters.take('max_completion_tokens'))
    parameters.end()
    return tool


def _choice(members: Members, settings: dict[str, Any]) -> bool:
    """Whether the model must call a tool."""
    if isinstance(members.peek('tool_choice'), dict):
        settings['tool_choice'] = [members.object('tool_choice').object('function').required('name')]
        return False
    choice = members.take('tool_choice')
    if choice == 'none':
        settings['tool_choice'] = 'none'
    return choice in ('required', 'any')


def _output(members: Members) -> OutputObjectDefinition | None:
    if (kind := members.take('type', 'text')) == 'text':
        return None
    if kind != 'json_schema':
        raise NotChecked(f'the response format {kind!r} is not understood')
    schema = members.object('json_schema')
    found = OutputObjectDefinition(
        json_schema=schema.required('schema'),
        name=schema.take('name'),
        description=schema.take('description'),
        strict=schema.take('strict'),
    )
    schema.end()
    members.end()
    return found
