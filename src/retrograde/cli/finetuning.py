"""Fine-tune a language model on texts of your own.

DATA has a line of JSON for each: {"text": ...}, of which all is learned; {"prompt": ..., "completion": ...} or {"messages": [...]},
of which the answers are. What is learned are small matrices beside the layers (LoRA); they are written to FOLDER as peft has
them. A run that was stopped, or killed, goes on when the same command is given again.
"""

from ..extras import optional
from ..models import finetune, load, quantise_frozen


def run(options):
    """Train, and write the adapter; returns the exit code."""
    told = (lambda line: None) if options.quiet else (lambda line: print(line, flush=True))
    if not options.quiet:
        optional("rich.progress", "train")
    model = load(options.model)
    if options.quantised is not None:
        quantise_frozen(model, options.quantised)
    finetune(model, options.data, options.out, rank=options.rank, alpha=options.alpha, dropout=options.dropout,
             targets=options.targets or "all-linear", epochs=options.epochs, batch_size=options.batch_size, length=options.length,
             accumulate=options.accumulate, learning_rate=options.lr, held_out=options.held_out, save_every=options.save_every,
             seed=options.seed, is_checkpointed=options.checkpoint_layers, base=options.model, progress=not options.quiet,
             told=told)
    told(f"the adapter is in {options.out}: retrograde chat --model {options.model} --adapter {options.out}")
    return 0
