"""Scripted models and providers: what an executor, an advisor or a provider answers, in order, and what it was sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

import httpx2
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent, ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, SkipModelRequest
from pydantic_ai.messages import ModelResponsePart, NativeToolCallPart, NativeToolReturnPart, ThinkingPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.openrouter import OpenRouterModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openrouter import OpenRouterProvider
from pydantic_ai.usage import RequestUsage

from advisor_harness import Consultation

Step = ModelResponse | BaseException | Callable[[list[ModelMessage], AgentInfo], Any]

HAIKU, OPUS, SONNET = 'claude-haiku-4-5', 'claude-opus-4-8', 'claude-sonnet-4-6'
KEY = 'test-key'


def says(*content: str | ModelResponsePart, finish_reason: Any = 'stop') -> ModelResponse:
    """A response of these parts, a `str` being text, that took 7 input and 3 output tokens."""
    parts = [TextPart(part) if isinstance(part, str) else part for part in content]
    return ModelResponse(parts=parts, finish_reason=finish_reason, usage=RequestUsage(input_tokens=7, output_tokens=3))


def asks(*prompts: str, first: int = 1) -> ModelResponse:
    """A response that consults the advisor once per prompt, with calls named `call-1`, `call-2` ..."""
    asked = [ToolCallPart('advisor', {'prompt': prompt}, f'call-{n}') for n, prompt in enumerate(prompts, start=first)]
    return says(*asked)


def calls(name: str, /, *, call_id: str = 'call-x', **args: Any) -> ModelResponse:
    return says(ToolCallPart(name, args, call_id))


def together(*responses: ModelResponse) -> ModelResponse:
    """One response with the parts of several."""
    return says(*(part for response in responses for part in response.parts))


def gives(**fields: Any) -> Step:
    """An advisor's structured answer, by the output tool or as JSON, whichever the request asks for."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if info.output_tools:
            return says(ToolCallPart(info.output_tools[0].name, fields))
        return says(json.dumps(fields))

    return answer


class Script:
    """A model that takes one step per request, the last one again when they run out."""

    def __init__(self, *steps: Step) -> None:
        self.steps = steps
        self.requests: list[list[ModelMessage]] = []
        self.infos: list[AgentInfo] = []

    @property
    def tools(self) -> list[list[str]]:
        """Names of the function tools of each request."""
        return [[tool.name for tool in info.function_tools] for info in self.infos]

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests.append(list(messages))
        self.infos.append(info)
        step = self.steps[min(len(self.requests), len(self.steps)) - 1]
        if isinstance(step, BaseException):
            raise step
        if isinstance(step, ModelResponse):
            return ModelResponse(parts=list(step.parts), finish_reason=step.finish_reason, usage=step.usage)
        result = step(messages, info)
        return result if isinstance(result, ModelResponse) else await result

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        response = await self(messages, info)
        for index, part in enumerate(response.parts):
            match part:
                case TextPart(content=content):
                    yield content
                case ThinkingPart(content=content):
                    yield {index: DeltaThinkingPart(content=content)}
                case ToolCallPart():
                    arguments = part.args_as_json_str()
                    yield {index: DeltaToolCall(part.tool_name, arguments, tool_call_id=part.tool_call_id)}
                case NativeToolCallPart() | NativeToolReturnPart():
                    yield {index: part}
                case _:
                    raise NotImplementedError(part)

    def model(self, name: str = 'executor', *, profile: Any = None) -> FunctionModel:
        return FunctionModel(self, stream_function=self.stream, model_name=name, profile=profile)


def skip(seconds: float) -> None:
    """Let the running event loop believe that `seconds` have passed, so that its timers are due without waiting."""
    loop = asyncio.get_running_loop()
    now = loop.time
    loop.time = lambda: now() + seconds


def executor(*steps: Step) -> Script:
    """An executor that takes `steps` and then answers `done`."""
    return Script(*steps, says('done'))


def tool_returns(messages: Sequence[ModelMessage], name: str = 'advisor') -> list[ToolReturnPart]:
    parts = [part for message in messages for part in message.parts]
    return [part for part in parts if isinstance(part, ToolReturnPart) and part.tool_name == name]


def answers(messages: Sequence[ModelMessage], name: str = 'advisor') -> list[Any]:
    """What the executor got from its calls, in order."""
    return [part.content for part in tool_returns(messages, name)]


def executor_reads(script: Script) -> str:
    """Every text that the executor was sent, as one string."""
    return repr([message for request in script.requests for message in request if isinstance(message, ModelRequest)])


async def consulted(advisor: Any, *steps: Step, prompt: str = 'Do the task.', **run: Any) -> tuple[Any, Script]:
    """Run a scripted executor with `advisor`; the result and the executor."""
    script = executor(*steps)
    agent = Agent(script.model(), name='executor', capabilities=[advisor])
    return await agent.run(prompt, **run), script


def outcomes(records: Sequence[Consultation]) -> list[str]:
    return [record.outcome.value for record in records]


def timeless(record: Consultation) -> Consultation:
    """The record without what differs from run to run."""
    return replace(record, duration_s=None)


class Approval(AbstractCapability[Any]):
    """Consultations need an approval."""

    async def before_tool_execute(self, ctx: Any, *, call: ToolCallPart, tool_def: Any, args: Any) -> Any:
        if call.tool_name == 'advisor' and not ctx.tool_call_approved:
            raise ApprovalRequired
        return args


class Cache(AbstractCapability[Any]):
    """Answers the second request without asking the model."""

    def __init__(self, response: ModelResponse, *, skip: bool) -> None:
        self.response, self.skip, self.count = response, skip, 0

    async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> ModelResponse:
        self.count += 1
        if self.count != 2:
            return await handler(request_context)
        if self.skip:
            raise SkipModelRequest(self.response)
        return self.response


class Provider:
    """An HTTP provider that gives prepared answers, as streams where asked to, the last one again when they run out."""

    def __init__(self, *answers: Any) -> None:
        self.answers = answers
        self.bodies: list[dict[str, Any]] = []
        self.requests: list[httpx2.Request] = []
        self.client = httpx2.AsyncClient(transport=httpx2.MockTransport(self))

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        self.bodies.append(json.loads(request.content))
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx2.Response):
            return answer
        if self.bodies[-1].get('stream'):
            events = sse(answer) if answer.get('type') == 'message' else chunks(answer)
            return httpx2.Response(200, text=events, headers={'content-type': 'text/event-stream'})
        return httpx2.Response(200, json=answer)

    def tools(self, request: int = 0) -> list[str]:
        """The tools in one request: names of function tools, types of the others."""
        tools = self.bodies[request].get('tools', [])
        return [
            tool['name'] if 'input_schema' in tool else tool.get('function', {'name': tool.get('type')})['name']
            for tool in tools
        ]

    def anthropic(self, name: str = HAIKU, **options: Any) -> AnthropicModel:
        client = AsyncAnthropic(api_key=KEY, http_client=self.client, max_retries=0)
        return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client), **options)

    def openrouter(self, name: str = 'openai/gpt-4o-mini', **options: Any) -> OpenRouterModel:
        client = AsyncOpenAI(
            api_key=KEY, base_url='https://openrouter.ai/api/v1', http_client=self.client, max_retries=0
        )
        return OpenRouterModel(name, provider=OpenRouterProvider(openai_client=client), **options)


def failing(status: int, *, text: str = 'no', kind: str = 'api_error') -> httpx2.Response:
    """An HTTP error in Anthropic's shape."""
    return httpx2.Response(status, json={'type': 'error', 'error': {'type': kind, 'message': text}})


def message(*content: dict[str, Any], stop: str = 'end_turn', model: str = HAIKU, **usage: Any) -> dict[str, Any]:
    """An Anthropic message."""
    return {
        'id': 'msg_1',
        'type': 'message',
        'role': 'assistant',
        'model': model,
        'content': list(content),
        'stop_reason': stop,
        'stop_sequence': None,
        'usage': {'input_tokens': 10, 'output_tokens': 5, **usage},
    }


def text(content: str) -> dict[str, Any]:
    return {'type': 'text', 'text': content}


def client_call(name: str, call_id: str = 'toolu_1', **arguments: Any) -> dict[str, Any]:
    return {'type': 'tool_use', 'id': call_id, 'name': name, 'input': arguments}


def server_call(call_id: str = 'srvtoolu_1') -> dict[str, Any]:
    return {'type': 'server_tool_use', 'id': call_id, 'name': 'advisor', 'input': {}}


def server_result(call_id: str = 'srvtoolu_1', **content: Any) -> dict[str, Any]:
    content = content or {'type': 'advisor_result', 'text': 'Use a lock.'}
    return {'type': 'advisor_tool_result', 'tool_use_id': call_id, 'content': content}


def native_advice(call_id: str = 'srvtoolu_1', **content: Any) -> list[dict[str, Any]]:
    return [server_call(call_id), server_result(call_id, **content)]


def native_error(code: str, call_id: str = 'srvtoolu_1') -> list[dict[str, Any]]:
    return native_advice(call_id, type='advisor_tool_result_error', error_code=code)


def iterations(*advisor_tokens: tuple[int, int], model: str = OPUS) -> list[dict[str, Any]]:
    """The `usage.iterations` of a message with one advisor iteration per pair of input and output tokens."""
    cache = {'cache_creation_input_tokens': 0, 'cache_read_input_tokens': 0}
    own = {'type': 'message', 'input_tokens': 5, 'output_tokens': 2, **cache}
    consulted = [
        {'type': 'advisor_message', 'model': model, 'input_tokens': i, 'output_tokens': o, **cache}
        for i, o in advisor_tokens
    ]
    return [own, *consulted, own]


def completion(content: str | None = 'Boomerang.', *, call: ToolCallPart | None = None, **usage: Any) -> dict[str, Any]:
    """A Chat Completion as OpenRouter sends it."""
    message: dict[str, Any] = {'role': 'assistant', 'content': content}
    if call is not None:
        function = {'name': call.tool_name, 'arguments': call.args_as_json_str()}
        message['tool_calls'] = [{'id': call.tool_call_id, 'type': 'function', 'function': function}]
    return {
        'id': 'gen-1',
        'object': 'chat.completion',
        'created': 1784878106,
        'model': 'openai/gpt-4o-mini',
        'provider': 'OpenAI',
        'choices': [
            {
                'index': 0,
                'finish_reason': 'stop' if call is None else 'tool_calls',
                'native_finish_reason': 'stop',
                'message': message,
            }
        ],
        'usage': {'prompt_tokens': 900, 'completion_tokens': 69, 'total_tokens': 969, **usage},
    }


def server_tool_usage(
    executed: int, *, cost: float | None = 0.0160614, own: float | None = 0.0001764
) -> dict[str, Any]:
    return {
        'server_tool_use_details': {'tool_calls_executed': executed, 'tool_calls_requested': executed},
        'cost': cost,
        'cost_details': {'upstream_inference_cost': own},
    }


def sse(message_body: dict[str, Any]) -> str:
    """An Anthropic message as the events of a stream."""
    opening = {**message_body, 'content': [], 'stop_reason': None, 'usage': {'input_tokens': 10, 'output_tokens': 1}}
    events: list[dict[str, Any]] = [{'type': 'message_start', 'message': opening}]
    for index, block in enumerate(message_body['content']):
        start, deltas = _streamed(block)
        events.append({'type': 'content_block_start', 'index': index, 'content_block': start})
        events += [{'type': 'content_block_delta', 'index': index, 'delta': delta} for delta in deltas]
        events.append({'type': 'content_block_stop', 'index': index})
    end = {'stop_reason': message_body['stop_reason'], 'stop_sequence': None}
    events += [{'type': 'message_delta', 'delta': end, 'usage': message_body['usage']}, {'type': 'message_stop'}]
    return ''.join(f'event: {event["type"]}\ndata: {json.dumps(event)}\n\n' for event in events)


def chunks(body: dict[str, Any]) -> str:
    """A Chat Completion as the events of a stream."""
    choice = body['choices'][0]
    parts = [
        {'choices': [{'index': 0, 'delta': {'role': 'assistant', 'content': choice['message']['content']}}]},
        {'choices': [{'index': 0, 'delta': {}, 'finish_reason': 'stop', 'native_finish_reason': 'stop'}]},
        {'choices': [], 'usage': body['usage']},
    ]
    head = {key: body[key] for key in ('id', 'created', 'model', 'provider')} | {'object': 'chat.completion.chunk'}
    return ''.join(f'data: {json.dumps({**head, **part})}\n\n' for part in parts) + 'data: [DONE]\n\n'


def _streamed(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block['type']:
        case 'text':
            return {**block, 'text': ''}, [{'type': 'text_delta', 'text': block['text']}]
        case 'tool_use' | 'server_tool_use':
            argument = '' if block['type'] == 'server_tool_use' else json.dumps(block['input'])
            return {**block, 'input': {}}, [{'type': 'input_json_delta', 'partial_json': argument}]
        case _:
            return block, []
