"""A language model behind the OpenAI-compatible protocol on loopback, and the few lines with which any process asks it.

Who sends `guided_choice`, a list, as an extra field (vLLM's name for it) is answered by the likeliest of these labels, and
finds their log-probabilities in the extra field `label_logprobs`.
"""

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

# An answer that is written, not chosen, has at most so many tokens.
LONGEST = 64


class Endpoint(ThreadingHTTPServer):
    """Serves `complete(body)`, which gives (text, log-probabilities of labels) for a request; `limit` bounds the `calls`."""

    daemon_threads = True

    def __init__(self, complete):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.complete, self.lock, self.calls, self.limit = complete, threading.Lock(), 0, 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def begin(self, limit):
        """Count from nought, and answer `limit` calls."""
        self.calls, self.limit = 0, limit

    def take(self):
        """Whether one more call is within the limit."""
        with self.lock:
            is_left = self.calls < self.limit
            self.calls += is_left
        return is_left


class _Handler(BaseHTTPRequestHandler):
    server: Any
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.server.take():
            return self._reply(402, {"error": {"message": "the calls of this rival are spent", "type": "spent"}})
        text, logprobs = self.server.complete(body)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        return self._reply(200, {"id": "answer", "object": "chat.completion", "created": 0, "model": body.get("model", ""),
                                 "choices": [choice], "label_logprobs": logprobs,
                                 "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})

    def _reply(self, status, data):
        content = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class SpentError(Exception):
    """No call is left."""


def ask(url, messages, **fields):
    """(text, log-probabilities of labels) for `messages`, dictionaries of role and content; a SpentError after the last call."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.netloc, timeout=600)
    try:
        body = json.dumps({"model": "local", "messages": messages, **fields})
        connection.request("POST", f"{place.path}/chat/completions", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = json.loads(response.read())
    finally:
        connection.close()
    if response.status == 402:
        raise SpentError(answer["error"]["message"])
    return answer["choices"][0]["message"]["content"], answer["label_logprobs"]


def serve(complete):
    """An Endpoint that runs as long as this process."""
    server = Endpoint(complete)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
