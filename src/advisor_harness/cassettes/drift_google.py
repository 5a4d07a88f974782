"""Requests of Google's `generateContent`, read back."""

from __future__ import annotations

from typing import Any

from pydantic_ai.messages import SystemPromptPart, ToolReturnPart, UserContent, UserPromptPart
from pydantic_ai.native_tools import CodeExecutionTool, WebFetchTool, WebSearchTool
from pydantic_ai.tools import ToolDefinition

from .drift_reading import Asked, Conversation, Members, NotChecked, binary, tool_parameters

__all__ = ['read']

_SETTINGS = {
    'temperature': 'temperature',
    'topP': 'top_p',
    'topK': 'top_k',
    'maxOutputTokens': 'max_tokens',
    'stopSequences': 'stop_sequences',
    'seed': 'seed',
    'presencePenalty': 'presence_penalty',
    'frequencyPenalty': 'frequency_penalty',
    'thinkingConfig': 'google_thinking_config',
}
_NATIVE: dict[str, Any] = {
    'googleSearch': WebSearchTool,
    'google_search': WebSearchTool,
    'codeExecution': CodeExecutionTool,
    'code_execution': CodeExecutionTool,
    'urlContext': WebFetchTool,
    'url_context': WebFetchTool,
}


def read(body: Any, *, stream: bool) -> Asked:
    """Read a request; whether it asks for a stream stands in its URL.

    Raises:
        NotChecked: it holds something that is not understood.
    """
    members = Members(body)
    generation = members.object('generationConfig')
    generation.take('responseModalities')
    settings = generation.settings(_SETTINGS)
    generation.end()
    settings |= members.settings({'safetySettings': 'google_safety_settings', 'labels': 'google_labels'})
    conversation = Conversation()
    for part in members.object('systemInstruction').objects('parts'):
        conversation.ask(SystemPromptPart(_text(part)))
    for content in members.objects('contents'):
        _content(content, conversation)
    tools, native = _tools(members)
    must_call = _choice(members.object('toolConfig'), tools)
    members.end()
    parameters = tool_parameters(tools, must_call=must_call, native=native)
    return Asked(turns=conversation.turns, settings=settings, parameters=parameters, stream=stream)


def _text(part: Members) -> str:
    text = part.required('text')
    part.end()
    return text


def _content(content: Members, conversation: Conversation) -> None:
    if content.take('role', 'user') == 'model':
        answer = {'candidates': [_candidate(content.list('parts'))], 'modelVersion': 'recorded'}
        conversation.answered(answer, {})
        return
    prompt: list[UserContent] = []
    for part in content.objects('parts'):
        if part.peek('functionResponse') is not None:
            conversation.ask(_returned(part.object('functionResponse')))
        elif part.peek('inlineData') is not None:
            prompt.append(_file(part.object('inlineData')))
        else:
            prompt.append(part.required('text'))
        part.end()
    if prompt:
        conversation.ask(UserPromptPart(prompt))


def _file(inline: Members) -> UserContent:
    media_type = inline.take('mime_type') or inline.required('mimeType')
    file = binary(inline.required('data'), media_type)
    inline.end()
    return file


def _candidate(parts: list[Any]) -> dict[str, Any]:
    return {'index': 0, 'content': {'role': 'model', 'parts': parts}, 'finishReason': 'STOP'}


def _returned(response: Members) -> ToolReturnPart:
    name, call_id, value = response.required('name'), response.take('id'), response.required('response')
    response.end()
    content = value['return_value'] if set(value) == {'return_value'} else value
    return ToolReturnPart(name, content, **({'tool_call_id': call_id} if call_id else {}))


def _tools(members: Members) -> tuple[list[ToolDefinition], list[Any]]:
    functions: list[ToolDefinition] = []
    native: list[Any] = []
    for tool in members.objects('tools'):
        for name in ('functionDeclarations', 'function_declarations'):
            functions += [_function(declaration) for declaration in tool.objects(name)]
        native += [made() for name, made in _NATIVE.items() if tool.take(name) is not None]
        tool.end()
    return functions, native


def _function(declaration: Members) -> ToolDefinition:
    schemas = [declaration.take(name) for name in ('parametersJsonSchema', 'parameters_json_schema')]
    given: list[dict[str, Any]] = [schema for schema in schemas if schema is not None]
    tool = ToolDefinition(
        name=declaration.required('name'),
        description=declaration.take('description'),
        parameters_json_schema=given[0] if given else {'type': 'object', 'properties': {}},
    )
    declaration.end()
    return tool


def _choice(config: Members, tools: list[ToolDefinition]) -> bool:
    """Whether the model must call a tool."""
    calling = config.object('functionCallingConfig')
    # Comes with the provider's own tools.
    config.take('includeServerSideToolInvocations')
    config.end()
    # `VALIDATED` is the automatic choice of models that support it.
    mode, allowed = calling.take('mode', 'AUTO'), calling.list('allowedFunctionNames')
    calling.end()
    if mode not in ('AUTO', 'VALIDATED', 'ANY') or (allowed and set(allowed) != {tool.name for tool in tools}):
        raise NotChecked('it is not known what made `toolConfig`')
    return mode == 'ANY'
