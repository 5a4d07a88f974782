"""Requests of OpenAI's Responses API, read back."""

from __future__ import annotations

from typing import Any

from pydantic_ai.messages import SystemPromptPart, UserPromptPart
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition

from .drift_reading import Answered, Asked, Conversation, Members, NotChecked, tool_parameters

__all__ = ['read']

_SETTINGS = {
    'temperature': 'temperature',
    'top_p': 'top_p',
    'max_output_tokens': 'max_tokens',
    'parallel_tool_calls': 'parallel_tool_calls',
    'truncation': 'openai_truncation',
    'previous_response_id': 'openai_previous_response_id',
    'service_tier': 'openai_service_tier',
    'store': 'openai_store',
    'user': 'openai_user',
    'top_logprobs': 'openai_top_logprobs',
    'prompt_cache_key': 'openai_prompt_cache_key',
}
_REASONING = {
    'effort': 'openai_reasoning_effort',
    'summary': 'openai_reasoning_summary',
    'context': 'openai_reasoning_context',
    'mode': 'openai_reasoning_mode',
}
_INCLUDED = {
    'code_interpreter_call.outputs': 'openai_include_code_execution_outputs',
    'web_search_call.action.sources': 'openai_include_web_search_sources',
    'file_search_call.results': 'openai_include_file_search_results',
    'message.output_text.logprobs': 'openai_logprobs',
}
_BY_ITSELF = 'reasoning.encrypted_content'
"""What Pydantic AI asks for without being told to."""

_ANSWERS = ('reasoning', 'function_call', 'web_search_call')


def read(body: Any, defaults: bool) -> Asked:
    """Read a request; no value of it is one that Pydantic AI has sent by itself, whatever `defaults` says.

    Raises:
        NotChecked: it holds something that is not understood.
    """
    members = Members(body)
    members.required('model')
    settings = members.settings(_SETTINGS)
    reasoning = members.object('reasoning')
    settings |= reasoning.settings(_REASONING) | _included(members.list('include'))
    reasoning.end()
    conversation = _conversation(members.required('input'))
    instructions = members.take('instructions')
    if instructions and conversation.turns and not isinstance(first := conversation.turns[-1], Answered):
        first.instructions = instructions
    tools, native = _tools(members)
    must_call = _choice(members, settings)
    output = _text(members.object('text'), settings)
    stream = bool(members.take('stream'))
    members.end()
    parameters = tool_parameters(tools, must_call=must_call, native=native, output=output)
    return Asked(turns=conversation.turns, settings=settings, parameters=parameters, stream=stream)


def _included(include: list[str]) -> dict[str, bool]:
    if unknown := [what for what in include if what not in _INCLUDED and what != _BY_ITSELF]:
        raise NotChecked(f'it is not known what made `include` name {unknown[0]!r}')
    return {_INCLUDED[what]: True for what in include if what in _INCLUDED}


def _conversation(items: Any) -> Conversation:
    conversation = Conversation()
    answer: list[dict[str, Any]] = []
    for index, item in enumerate([{'role': 'user', 'content': items}] if isinstance(items, str) else items):
        if _is_answer(item):
            answer.append(_whole(item))
            continue
        _close(answer, conversation)
        answer = []
        _asked(Members(item, f'input[{index}]'), conversation)
    _close(answer, conversation)
    return conversation


def _is_answer(item: dict[str, Any]) -> bool:
    return item.get('type') in _ANSWERS or item.get('role') == 'assistant'


def _whole(item: dict[str, Any]) -> dict[str, Any]:
    """An item as it stands in an answer; texts of other models are sent without the rest of it."""
    if item.get('role') != 'assistant' or not isinstance(item.get('content'), str):
        return item
    text: dict[str, Any] = {'type': 'output_text', 'text': item['content'], 'annotations': []}
    return {'type': 'message', 'id': '', 'role': 'assistant', 'status': 'completed', 'content': [text]}


def _close(items: list[Any], conversation: Conversation) -> None:
    if items:
        calls = {item['call_id']: item['name'] for item in items if item.get('type') == 'function_call'}
        conversation.answered(_answer(items), calls)


def _answer(items: list[Any]) -> dict[str, Any]:
    return {
        'id': 'resp_check',
        'object': 'response',
        'created_at': 1,
        'model': 'recorded',
        'status': 'completed',
        'output': items,
        'parallel_tool_calls': True,
        'tool_choice': 'auto',
        'tools': [],
    }


def _asked(item: Members, conversation: Conversation) -> None:
    if item.take('type') == 'function_call_output':
        call_id, output = item.required('call_id'), item.required('output')
        item.take('status')
        if not isinstance(output, str):
            raise NotChecked('a tool result of several parts is not understood')
        conversation.returned(call_id, output)
    elif (role := item.take('role')) in ('system', 'developer'):
        conversation.ask(SystemPromptPart(_plain(item.required('content'))))
    elif role == 'user':
        conversation.ask(UserPromptPart(_plain(item.required('content'))))
    else:
        raise NotChecked('an item of `input` is not understood')
    item.end()


def _plain(content: Any) -> str:
    if not isinstance(content, str):
        raise NotChecked('a message of several parts is not understood')
    return content


def _tools(members: Members) -> tuple[list[ToolDefinition], list[Any]]:
    functions: list[ToolDefinition] = []
    native: list[Any] = []
    for tool in members.objects('tools'):
        if (kind := tool.required('type')) == 'function':
            functions.append(_function(tool))
        elif kind.startswith('web_search'):
            native.append(WebSearchTool(search_context_size=tool.take('search_context_size', 'medium')))
        else:
            raise NotChecked(f'the native tool {kind!r} is not understood')
        tool.end()
    return functions, native


def _function(members: Members) -> ToolDefinition:
    return ToolDefinition(
        name=members.required('name'),
        description=members.take('description'),
        parameters_json_schema=members.required('parameters'),
        strict=members.take('strict') or None,  # `false` stands for "not asked for" too
    )


def _choice(members: Members, settings: dict[str, Any]) -> bool:
    """Whether the model must call a tool."""
    if isinstance(members.peek('tool_choice'), dict):
        settings['tool_choice'] = [members.object('tool_choice').required('name')]
        return False
    choice = members.take('tool_choice')
    if choice == 'none':
        settings['tool_choice'] = 'none'
    return choice == 'required'


def _text(text: Members, settings: dict[str, Any]) -> OutputObjectDefinition | None:
    settings |= text.settings({'verbosity': 'openai_text_verbosity'})
    form = text.object('format')
    text.end()
    kind = form.take('type', 'text')
    if kind == 'text':
        return None
    if kind != 'json_schema':
        raise NotChecked(f'the text format {kind!r} is not understood')
    found = OutputObjectDefinition(
        json_schema=form.required('schema'),
        name=form.take('name'),
        description=form.take('description'),
        strict=form.take('strict'),
    )
    form.end()
    return found
