"""The programs of `pytorch/examples` that need no file of the network: how each is started, small."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """One program, and how it is run.

    name       what the table calls it
    folder     where it stands in the checkout; its files are copied, with their imports changed
    script     the file that is run, seen from the folder
    arguments  of its command line
    losses     how many calls of `backward` are compared; then the program is stopped
    setup      the function of `setups.py` that lays out the data it reads, in the folder of the copy
    """

    name: str
    folder: str
    script: str = "main.py"
    arguments: tuple = ()
    losses: int = 8
    setup: str = ""


_WORDS = ("--data", "words", "--emsize", "32", "--nhid", "32", "--nlayers", "2", "--batch_size", "4", "--bptt", "12", "--dropout", "0")
_TRANSLATION = ("--embed_size", "32", "--dim_feedforward", "48", "--enc_layers", "2", "--dec_layers", "2", "--attn_heads", "4",
                "--batch", "8", "--dropout", "0", "--logging_dir", "./logged/")

PROGRAMS = (
    Program("mnist", "mnist", arguments=("--batch-size", "16", "--log-interval", "1")),
    Program("mnist_rnn", "mnist_rnn", arguments=("--batch-size", "16", "--log-interval", "1")),
    Program("mnist_forward_forward", "mnist_forward_forward", arguments=("--epochs", "8", "--train_size", "64", "--test_size", "64"), losses=16),
    Program("vae", "vae", arguments=("--batch-size", "32", "--log-interval", "1")),
    Program("dcgan", "dcgan", arguments=("--dataset", "fake", "--batchSize", "4", "--ngf", "8", "--ndf", "8", "--workers", "0", "--lr", "0.00002"),
            losses=24),
    Program("word_language_model, RNN_TANH", "word_language_model", arguments=("--model", "RNN_TANH", *_WORDS), setup="words"),
    Program("word_language_model, RNN_RELU", "word_language_model", arguments=("--model", "RNN_RELU", "--lr", "1", *_WORDS), setup="words"),
    Program("word_language_model, LSTM", "word_language_model", arguments=("--model", "LSTM", *_WORDS), setup="words"),
    Program("word_language_model, GRU, tied", "word_language_model", arguments=("--model", "GRU", "--tied", *_WORDS), setup="words"),
    Program("word_language_model, Transformer", "word_language_model",
            arguments=("--model", "Transformer", "--nhead", "2", "--lr", "1", *_WORDS), setup="words"),
    Program("word_language_model, AdamW", "word_language_model",
            arguments=("--model", "LSTM", "--use-optimizer", "--lr", "0.001", *_WORDS), setup="words"),
    Program("super_resolution", "super_resolution", arguments=("--upscale_factor", "4", "--batchSize", "1", "--testBatchSize", "1", "--threads", "0"),
            setup="photographs"),
    Program("fast_neural_style", "fast_neural_style/neural_style", "neural_style.py",
            ("train", "--dataset", "images", "--style-image", "style.png", "--save-model-dir", ".", "--epochs", "2", "--batch-size", "1",
             "--image-size", "48", "--lr", "0.0001", "--log-interval", "1"), losses=6, setup="images"),
    Program("time_sequence_prediction", "time_sequence_prediction", "train.py", ("--steps", "1"), losses=8, setup="waves"),
    Program("gcn", "gcn", arguments=("--epochs", "10"), setup="citations"),
    Program("gat", "gat", arguments=("--epochs", "10", "--hidden-dim", "8", "--num-heads", "4"), losses=4, setup="citations"),
    Program("siamese_network", "siamese_network", arguments=("--batch-size", "8", "--log-interval", "1"), losses=6),
    Program("reinforce", "reinforcement_learning", "reinforce.py"),
    Program("actor_critic", "reinforcement_learning", "actor_critic.py", ("--gamma", "0.5")),
    Program("regression", "regression"),
    Program("language_translation", "language_translation", arguments=_TRANSLATION),
)
