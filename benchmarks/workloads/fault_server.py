"""A chat-completion server on loopback that fails on purpose, and keeps count of what it did."""

import hashlib
import json
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class FaultServer(ThreadingHTTPServer):
    """Answers `answer to <prompt>`, after the faults that `plan(prompt, attempt)` names for each attempt; None is an answer."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, plan=lambda prompt, attempt: None, delay=0.0, answers=None):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.plan, self.delay, self.lock = plan, delay, threading.Lock()
        self.attempts, self.faults, self.answers = Counter(), Counter(), Counter()
        self.bodies, self.headers, self.paths, self.calls = [], [], [], defaultdict(set)
        self.answer = answers or answer
        self.running = self.most_running = self.tokens = 0
        #: That a client went away before a body that drips had ended.
        self.is_left = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request, client_address):
        """Clients that leave are part of the game."""


class _Handler(BaseHTTPRequestHandler):
    server: Any
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt, server = body["messages"][-1]["content"], self.server
        with server.lock:
            attempt = server.attempts[prompt]
            server.attempts[prompt] += 1
            server.bodies.append(body)
            server.headers.append(dict(self.headers))
            server.paths.append(self.path)
            server.calls[prompt].add(self.headers["Idempotency-Key"])
            server.running += 1
            server.most_running = max(server.most_running, server.running)
        try:
            time.sleep(server.delay)
            self._respond(prompt, body, server.plan(prompt, attempt))
        finally:
            with server.lock:
                server.running -= 1

    def _respond(self, prompt, body, fault):
        if fault is not None:
            with self.server.lock:
                self.server.faults[fault] += 1
            _FAULTS[fault](self)
        elif body.get("stream"):
            self.stream(prompt)
        else:
            with self.server.lock:
                self.server.answers[prompt] += 1
                self.server.tokens += 15
            self.reply(200, self.server.answer(prompt))

    def stream(self, prompt, cut=False):
        words = f"answer to {prompt}".split(" ")
        events = [{"choices": [{"delta": {"content": (" " if i else "") + word}}]} for i, word in enumerate(words)]
        lines = [f"data: {json.dumps(event)}\n\n" for event in events[: 1 if cut else None]]
        end = ['data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n', "data: [DONE]\n\n"]
        lines += [": a comment\n\n"] if cut else end
        self.reply(200, "".join(lines), {"Content-Type": "text/event-stream"})

    def reply(self, status, data, headers=None):
        content = (data if isinstance(data, str) else json.dumps(data)).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def finish(self, reason):
        """An answer that ends for a reason of its own."""
        found = answer("q")
        found["choices"][0]["finish_reason"] = reason
        self.reply(200, found)

    def cut(self, after):
        """Close the connection in the middle of the answer, or before it."""
        if after:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{\"choices\": [")
        self.close_connection = True

    def drip(self, head=b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"):
        """A body, or the headers, that come byte by byte, and never end in good time."""
        self.close_connection = True
        try:
            self.wfile.write(head)
            for _ in range(1000):
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.02)
        except ConnectionError:
            self.server.is_left.set()


def answer(prompt):
    return {"choices": [{"message": {"role": "assistant", "content": f"answer to {prompt}"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5}}


def _escaped(text):
    """`text` with each character as JSON may also have it."""
    return "".join(f"\\u{ord(sign):04x}" for sign in text)


_FAULTS = {
    "429": lambda h: h.reply(429, {"error": "slow down"}),
    "429 seconds": lambda h: h.reply(429, {"error": "slow down"}, {"Retry-After": "0.01"}),
    "429 date": lambda h: h.reply(429, {"error": "slow down"}, {"Retry-After": formatdate(time.time() - 5, usegmt=True)}),
    "429 long": lambda h: h.reply(429, {"error": "slow down"}, {"Retry-After": "3600"}),
    "429 quota": lambda h: h.reply(429, {"error": {"code": "insufficient_quota"}}),
    "500": lambda h: h.reply(500, {"error": "oops"}),
    "503": lambda h: h.reply(503, "<html>busy</html>"),
    "400": lambda h: h.reply(400, {"error": "bad request"}),
    "400 echo": lambda h: h.reply(400, {"error": dict(h.headers)}),
    "401": lambda h: h.reply(401, {"error": f"wrong key: {h.headers['Authorization']}"}),
    "cut": lambda h: h.cut(after=False),
    "cut body": lambda h: h.cut(after=True),
    "slow": lambda h: h.drip(),
    "slow headers": lambda h: h.drip(b"HTTP/1.1 200 OK\r\nX-Slow: "),
    "error in 200": lambda h: h.reply(200, {"error": {"message": "overloaded", "code": 503}}),
    "strings": lambda h: h.reply(200, {"choices": [{"message": {"content": ["a"]}}]}),
    "length": lambda h: h.finish("length"),
    "content_filter": lambda h: h.finish("content_filter"),
    "negative": lambda h: h.reply(200, {**answer("q"), "usage": {"prompt_tokens": -1000, "completion_tokens": True}}),
    "echo stream": lambda h: h.reply(200, f'data: {{"error": {{"message": "bad key {h.headers["Authorization"]}"}}}}\n\n',
                                     {"Content-Type": "text/event-stream"}),
    "echo line": lambda h: h.reply(200, f'data: {{"choices": [{{"delta": "{h.headers["Authorization"]}"}}]}}\n\n',
                                   {"Content-Type": "text/event-stream"}),
    "echo pieces": lambda h: h.reply(200, "".join(f"data: {json.dumps({'choices': [{'delta': {'content': sign}}]})}\n\n"
                                                  for sign in h.headers["Authorization"]) + "data: [DONE]\n\n",
                                     {"Content-Type": "text/event-stream"}),
    "echo escaped": lambda h: h.reply(200, json.dumps(answer("q")).replace("answer to q", _escaped(h.headers["Authorization"]))),
    "echo sent": lambda h: h.reply(200, answer(f"{h.path} {json.dumps(h.server.bodies[-1])}")),
    "malformed": lambda h: h.reply(200, '{"choices": [{"mess'),
    "schema": lambda h: h.reply(200, {"object": "list", "choices": [{"text": 3}]}),
    "empty": lambda h: h.reply(200, {"choices": []}),
    "cut stream": lambda h: h.stream("a prompt", cut=True),
}


def drawn(seed, shares):
    """A plan that draws the fault of each attempt by its share; the same for a prompt and an attempt every time."""

    def plan(prompt, attempt):
        number = int.from_bytes(hashlib.sha256(f"{seed} {prompt} {attempt}".encode()).digest()[:8]) / 2**64
        for fault, share in shares.items():
            number -= share
            if number < 0:
                return fault
        return None

    return plan


@contextmanager
def serving(*args, **options):
    server = FaultServer(*args, **options)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def serving_apart(delay):
    """The address of a server without faults in a process of its own, which takes no time from the one that is measured."""
    command = [sys.executable, "-m", "benchmarks.workloads.fault_server", str(delay)]
    root, pipe = Path(__file__).parents[2], subprocess.PIPE
    process: Any = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=root)
    with process:
        yield process.stdout.readline().strip()  # It ends when its input does, with this block.


if __name__ == "__main__":
    with serving(delay=float(sys.argv[1])) as lasting:
        print(lasting.url, flush=True)
        sys.stdin.read()
