"""Language models beside llama.cpp on the same file: `python -m benchmarks.models FILE.gguf`, with the extras `models` and `local`.

One thread each, CPU time of the process, in turns; the least of some rounds. Memory is that of loading, before anything else.
"""

import argparse
import resource
import time
from pathlib import Path

import retrograde as rg
from retrograde.text.models.llama_cpp import LlamaCpp

TEXT = "The quick brown fox jumps over the lazy dog and. " * 60


def seconds(run):
    """CPU seconds of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def main():
    """Print what a token and a prompt take."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--prompt", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rg.set_num_threads(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = rg.models.load(options.path)
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"loading: {taken / 1024:.0f} MB at most, {before / 1024:.0f} of them before; the file has "
          f"{options.path.stat().st_size / 2**20:.0f}")
    engine = LlamaCpp(options.path, 2048, 1)
    long = model.tokenizer.encode(TEXT)[: options.prompt]
    for name, prompt, count in (("a token", long[:8], options.tokens), (f"{len(long)} tokens of prompt", long, 1)):
        asked = {"prompt": prompt, "cache_prompt": False, "max_tokens": count, "temperature": 0.0, "ignore_eos": True}
        runs = [lambda prompt=prompt, count=count: model.generate(prompt, max_tokens=count, temperature=0.0, ignore_end=True),
                lambda asked=asked: engine._server.handle_completions(asked)]  # noqa: SLF001 - the engine has no such options
        for run in runs:
            run()
        rounds = [[seconds(run) for run in runs] for _ in range(options.rounds)]
        ours, theirs = [min(times) / count for times in zip(*rounds, strict=True)]
        print(f"{name}: {ours * 1e3:.2f} ms, llama.cpp {theirs * 1e3:.2f} ms, its time through ours {theirs / ours:.2f}")
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB with both")


if __name__ == "__main__":
    main()
