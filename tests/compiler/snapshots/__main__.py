"""Keep what the compiler decides now: `python -m tests.compiler.snapshots`. The difference that git shows is what a change does."""

from .keeping import keep

if __name__ == "__main__":
    keep()
