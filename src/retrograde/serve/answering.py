"""Answering: texts that were written, and errors, in OpenAI's form."""

import json
import secrets
import time


class Form:
    """The form of one answer: that of chats or that of completions, whole or in chunks of a stream."""

    def __init__(self, name, tokenizer, asked):
        self.name, self.tokenizer, self.is_chat, self.has_logprobs = name, tokenizer, asked.messages is not None, asked.has_logprobs
        kind = "chatcmpl" if self.is_chat else "cmpl"
        self.id, self.created = f"{kind}-{secrets.token_hex(12)}", int(time.time())

    def whole(self, choices, prompt_tokens):
        """The answer of a request, of all parts of each choice."""
        found = []
        for index, parts in enumerate(choices):
            text = "".join([part.text for part in parts])
            said = {"message": {"role": "assistant", "content": text, "refusal": None}} if self.is_chat else {"text": text}
            found.append({"index": index, **said, "logprobs": self._logprobs(parts, 0), "finish_reason": parts[-1].reason})
        written = sum([len(part.tokens) for parts in choices for part in parts])
        return {**self._frame("chat.completion" if self.is_chat else "text_completion"), "choices": found,
                "usage": usage(prompt_tokens, written)}

    def first(self, index):
        """The chunk before the text of a choice; None where there is none."""
        return self._chunk(index, {"delta": {"role": "assistant", "content": ""}}, None, None) if self.is_chat else None

    def next(self, index, part, offset):
        """The chunks of a part of a choice, which begins at `offset` in its text."""
        logprobs = self._logprobs([part], offset) if part.tokens else None
        if not self.is_chat:
            if part.text or part.tokens or part.reason:
                yield self._chunk(index, {"text": part.text}, logprobs, part.reason)
            return
        if part.text or logprobs:
            yield self._chunk(index, {"delta": {"content": part.text}}, logprobs, None)
        if part.reason:
            yield self._chunk(index, {"delta": {}}, None, part.reason)

    def used(self, prompt_tokens, written):
        """The chunk after the last one that says what the request took."""
        return {**self._frame(self._kind_of_chunk), "choices": [], "usage": usage(prompt_tokens, written)}

    @property
    def _kind_of_chunk(self):
        return "chat.completion.chunk" if self.is_chat else "text_completion"

    def _frame(self, kind):
        return {"id": self.id, "object": kind, "created": self.created, "model": self.name}

    def _chunk(self, index, said, logprobs, reason):
        choice = {"index": index, **said, "logprobs": logprobs, "finish_reason": reason}
        return {**self._frame(self._kind_of_chunk), "choices": [choice]}

    def _logprobs(self, parts, offset):
        """The log-probabilities of the tokens of parts, whose text begins at `offset`; None where they are not asked for."""
        if not self.has_logprobs:
            return None
        rows = [(token, logprob, part.alternatives[i] if part.alternatives else ())
                for part in parts for i, (token, logprob) in enumerate(zip(part.tokens, part.logprobs, strict=True))]
        if self.is_chat:
            return {"content": [{**self._token(token, logprob), "top_logprobs": [self._token(*pair) for pair in others]}
                                for token, logprob, others in rows], "refusal": None}
        texts, offsets = [self.tokenizer.text_of(token) for token, _, _ in rows], []
        for text in texts:
            offsets.append(offset)
            offset += len(text)
        return {"tokens": texts, "token_logprobs": [logprob for _, logprob, _ in rows], "text_offset": offsets,
                "top_logprobs": [{self.tokenizer.text_of(token): logprob for token, logprob in others} for _, _, others in rows]}

    def _token(self, token, logprob):
        text = self.tokenizer.text_of(token)
        # A token that is part of a letter has bytes that its text does not tell.
        return {"token": text, "logprob": logprob, "bytes": None if "\ufffd" in text else [*text.encode()]}


def usage(prompt_tokens, written):
    """How many tokens were read and written."""
    return {"prompt_tokens": prompt_tokens, "completion_tokens": written, "total_tokens": prompt_tokens + written}


def error_of(message, kind="invalid_request_error", param=None, code=None):
    """An error as OpenAI's servers tell it."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def event(data):
    """An object as an event of a stream."""
    return f"data: {json.dumps(data)}\n\n"
