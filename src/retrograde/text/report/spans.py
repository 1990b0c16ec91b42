"""Spans of OpenTelemetry for runs, steps and calls of models, by the conventions for generative models."""

import json

from ...extras import optional
from ..models.listeners import Listener, listening

#: Options of a request, and the names of their attributes.
_OPTIONS = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_tokens", "seed": "seed", "stop": "stop_sequences"}


def spans(tracer=None, *, content=False):
    """A context manager: within it each run, step and call of a model is a span of OpenTelemetry. Needs the extra `otel`.

    tracer   of your own; by default that of the tracer provider in force
    content  whether prompts and answers are put into the spans; they may be private, so they are not unless you say so

    Calls are children of the step, and steps of the run, that they belong to, in whatever thread they are made. Attributes have
    the names of the semantic conventions, such as gen_ai.usage.input_tokens; what these have no name for begins with retrograde.
    """
    trace = optional("opentelemetry.trace", "otel")
    return listening(_Spans(trace, tracer or trace.get_tracer("retrograde"), content))


class _Spans(Listener):
    """Makes the spans."""

    def __init__(self, trace, tracer, content):
        self._trace, self._tracer, self._has_content = trace, tracer, content

    def begin(self, kind, name):
        if kind == "call":
            return self._tracer.start_span(f"chat {name}", kind=self._trace.SpanKind.CLIENT)
        return self._tracer.start_span(name)

    def within(self, span):
        return self._trace.use_span(span, record_exception=False, set_status_on_exception=False)

    def end(self, span, facts, error=None):
        attributes = {f"retrograde.{name}": value for name, value in facts.items()} if isinstance(facts, dict) else self._of(facts)
        span.set_attributes({name: value for name, value in attributes.items() if value is not None})
        reason = facts.error if not isinstance(facts, dict) else None if error is None else f"{type(error).__name__}: {error}"
        if reason is not None:
            span.set_attribute("error.type", reason.partition(":")[0])
            span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, reason))
        span.end()

    def _of(self, call):
        """The attributes of a call."""
        request, answer = call.request, call.completion
        found = {"gen_ai.operation.name": "chat", "gen_ai.request.model": call.model, "retrograde.node": call.node}
        found.update({f"gen_ai.request.{name}": getattr(request, option) or None if option == "stop" else getattr(request, option)
                      for option, name in _OPTIONS.items()})
        if answer is not None:
            found.update({"gen_ai.usage.input_tokens": answer.prompt_tokens, "gen_ai.usage.output_tokens": answer.completion_tokens,
                          "gen_ai.response.finish_reasons": (answer.finish_reason,), "retrograde.cost": answer.cost,
                          "retrograde.is_cached": answer.is_cached})
        if self._has_content:
            said = [{"role": m.role, "parts": [{"type": "text", "content": m.content}]} for m in request.messages]
            found["gen_ai.input.messages"] = json.dumps(said, ensure_ascii=False)
            if answer is not None:
                reply = {"role": "assistant", "parts": [{"type": "text", "content": answer.text}],
                         "finish_reason": answer.finish_reason}
                found["gen_ai.output.messages"] = json.dumps([reply], ensure_ascii=False)
        return found
