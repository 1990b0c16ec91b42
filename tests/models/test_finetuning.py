import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import older_networks
import pytest
import reference
import written_models

import retrograde as rg
from retrograde import models
from retrograde.cli import main
from retrograde.models.finetuning.examples import read_examples
from retrograde.train.trainer import Trainer

TEMPLATE = ("{% for m in messages %}<s>{{ m['role'][0] }} {{ m['content'] }}</s>{% endfor %}"
            "{% if add_generation_prompt %}<s>a {% endif %}")
RECORDS = [{"text": "the cat in the house"}, {"prompt": "the dog", "completion": " barks"}, {"text": "a dog in the garden"},
           {"prompt": "what", "completion": " is that"}] * 5
OPTIONS = {"rank": 4, "length": 24, "batch_size": 2, "epochs": 3, "learning_rate": 1e-2, "save_every": 2, "held_out": 0.1, "dropout": 0.1,
           "progress": False}


def written(path, records):
    path.write_text("".join([f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records]))
    return path


def model_of(template=None):
    return models.Model(reference.network_of(), reference.tokenizer(), template=template)


def learned(model, example):
    """The text of what is to be learned."""
    return model.tokenizer.decode([t for t, is_learned in zip(*example, strict=True) if is_learned])


def test_of_prompts_completions_alone_are_learned(tmp_path):
    model = model_of(TEMPLATE)
    chat = {"messages": [{"role": "user", "content": "what"}, {"role": "assistant", "content": "the cat"},
                         {"role": "user", "content": "in"}, {"role": "assistant", "content": "a house"}]}
    path = written(tmp_path / "x.jsonl", [{"text": "the cat"}, {"prompt": "the cat is ", "completion": "good"}, "", chat])
    text, pair, messages = read_examples(path, model, 64).examples
    assert all(text.is_learned)
    assert text.tokens == [1, *model.tokenizer.encode("the cat", is_start=False), 2]
    assert pair.tokens == [*model.tokenizer.encode("the cat is good"), 2]
    assert learned(model, pair) == "good"
    assert pair.is_learned[-1]
    assert messages.tokens == model.tokenizer.encode("<s>u what</s><s>a the cat</s><s>u in</s><s>a a house</s>", is_start=False)
    assert learned(model, messages).split() == ["the", "cat", "a", "house"]
    assert [t for t, is_learned in zip(*messages, strict=True) if is_learned].count(2) == 2


def test_long_texts_go_on_in_other_examples_and_long_answers_are_cut(tmp_path):
    model = model_of()
    path = written(tmp_path / "x.jsonl", [{"text": "abcdefghij" * 3}, {"prompt": "ab", "completion": "cdefghij" * 3}])
    found = read_examples(path, model, 8)
    assert found.cut == 2
    pieces, whole = found.examples[:-1], [*model.tokenizer.encode("abcdefghij" * 3), 2]
    assert [t for piece in pieces for t in piece.tokens[1:]] == whole[1:]
    assert max(len(example.tokens) for example in found.examples) == 8


@pytest.mark.parametrize(("line", "message"), [
    ("{", "no JSON"), ("[1]", "a line is"), ({"txt": "a"}, "this one has txt"), ({"text": ""}, "not empty"), ({"text": 3}, "not empty"),
    ({"prompt": "a" * 40, "completion": "b"}, "nothing is left to learn in the first 16"), ({"prompt": "a", "completion": None}, "completion"),
    ({"messages": [{"role": "user", "content": "a"}]}, "assistant"), ({"messages": []}, "at least one"), ({"messages": ["a"]}, "dictionary"),
    ({"text": "a", "prompt": "b", "completion": "c"}, "completion, prompt, text")])
def test_a_line_that_is_not_right_is_named(tmp_path, line, message):
    path = written(tmp_path / "x.jsonl", [{"text": "the"}, "", line])
    with pytest.raises(rg.errors.DataError, match=f"x.jsonl, line 3: .*{message}"):
        read_examples(path, model_of(TEMPLATE), 16)


def test_files_without_lines_and_templates_are_errors(tmp_path):
    with pytest.raises(rg.errors.DataError, match="no line"):
        read_examples(written(tmp_path / "x.jsonl", [""]), model_of(), 16)
    with pytest.raises(rg.errors.DataError, match="no chat template"):
        read_examples(written(tmp_path / "x.jsonl", [{"messages": [{"role": "user", "content": "a"}]}]), model_of(), 16)
    changing = "{% for m in messages %}{{ loop.length }}{{ m['content'] }}{% endfor %}"
    chat = {"messages": [{"role": role, "content": "a"} for role in ("user", "assistant", "user")]}
    with pytest.raises(rg.errors.DataError, match="line 1: the chat template changes"):
        read_examples(written(tmp_path / "x.jsonl", [chat]), model_of(changing), 16)


class KilledError(BaseException):
    """Ends a training as a kill would: nobody catches it."""


def test_a_training_that_was_killed_goes_on_to_the_same_bits(tmp_path, monkeypatch):
    path, step = written(tmp_path / "x.jsonl", RECORDS), Trainer._step
    whole = models.finetune(model_of(), path, tmp_path / "whole", **OPTIONS)
    assert whole.history[-1]["validation_token_loss"] < whole.history[0]["validation_token_loss"]

    def killed(trainer, group):
        step(trainer, group)
        if trainer.step in (3, 7):
            raise KilledError

    monkeypatch.setattr(Trainer, "_step", killed)
    model = model_of()
    for _ in range(2):
        with pytest.raises(KilledError):
            models.finetune(model, path, tmp_path / "parts", **OPTIONS)
        # From the checkpoint behind it each goes on; that of step 3 comes by once.
        monkeypatch.setattr(Trainer, "_step", lambda trainer, group: (
            step(trainer, group) if trainer.step < 6 else killed(trainer, group)))
    monkeypatch.setattr(Trainer, "_step", step)
    found = models.finetune(model, path, tmp_path / "parts", **OPTIONS)
    assert [logs["token_loss"] for logs in found.history] == [logs["token_loss"] for logs in whole.history]
    name = "adapter_model.safetensors"
    assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_gpt2_learns_too_and_what_does_not_write_is_refused(tmp_path):
    model = models.Model(older_networks.gpt2_of(), reference.tokenizer())
    path = written(tmp_path / "x.jsonl", RECORDS)
    found = models.finetune(model, path, tmp_path / "out", **{**OPTIONS, "is_checkpointed": True})
    assert found.history[-1]["token_loss"] < 0.9 * found.history[0]["token_loss"]
    assert not model.network.transformer.is_checkpointed
    with pytest.raises(rg.errors.ArgumentError, match="finetune needs a network that writes"):
        models.finetune(models.Encoder(older_networks.bert_of(), reference.tokenizer()), path, tmp_path / "other", **OPTIONS)
    for refuse in (lambda bert: models.Model(bert, reference.tokenizer()), models.quantise_frozen,
                   lambda bert: models.next_token_loss(bert, rg.tensor([[1]]), rg.tensor([[2]]))):
        with pytest.raises(rg.errors.ArgumentError, match=r"network that writes.*got Bert"):
            refuse(older_networks.bert_of())


def test_a_folder_of_another_run_is_refused(tmp_path):
    path = written(tmp_path / "x.jsonl", RECORDS[:4])
    models.finetune(model_of(), path, tmp_path / "out", **{**OPTIONS, "epochs": 1})
    with pytest.raises(rg.errors.ArgumentError, match="epochs=2, and there it is 1"):
        models.finetune(model_of(), path, tmp_path / "out", **{**OPTIONS, "epochs": 2})
    with pytest.raises(rg.errors.ArgumentError, match="weights of another format"):
        models.finetune(models.quantise_frozen(model_of()), path, tmp_path / "out", **{**OPTIONS, "epochs": 1})
    written(path, RECORDS[1:5])
    with pytest.raises(rg.errors.ArgumentError, match="other texts"):
        models.finetune(model_of(), path, tmp_path / "out", **{**OPTIONS, "epochs": 1})
    with pytest.raises(rg.errors.ArgumentError, match="length must be from 2 to 64"):
        models.finetune(model_of(), path, tmp_path / "new", length=65)


@pytest.mark.parametrize("form", [None, "Q8_0"])
def test_the_command_writes_an_adapter_that_generate_reads(tmp_path, capsys, form):
    model, data, out = written_models.llama(tmp_path / "m.gguf", reference.network_of(), form), written(tmp_path / "x.jsonl", RECORDS), tmp_path / "out"
    words = ["finetune", str(data), "--model", str(model), "--out", str(out), "--length", "24", "--batch-size", "2", "--epochs", "2",
             "--lr", "0.01", "--checkpoint-layers"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "19 texts to learn, 1 held out" in said
    assert "epoch 2" in said
    adapted = rg.models.load(model)
    models.load_adapter(adapted, out)
    expected = adapted.generate("the", max_tokens=8, temperature=0.0)
    assert expected != rg.models.load(model).generate("the", max_tokens=8, temperature=0.0)
    assert main(["generate", "the", "--model", str(model), "--adapter", str(out), "--max-tokens", "8", "--temperature", "0"]) == 0
    assert capsys.readouterr().out == expected + "\n"
    assert main([*words, "--rank", "4"]) == 1
    assert "rank=4" in capsys.readouterr().err
    data.write_text("x\n")
    assert main([*words[:5], str(tmp_path / "other"), "--length", "24"]) == 1
    assert "x.jsonl, line 1" in capsys.readouterr().err


@pytest.mark.long
def test_a_process_that_is_killed_at_any_moment_goes_on(tmp_path):
    data, model = written(tmp_path / "x.jsonl", RECORDS * 10), written_models.llama(tmp_path / "m.gguf", reference.network_of())
    rng, name = np.random.default_rng(0), "adapter_model.safetensors"

    def started(out):
        words = [str(data), "--model", str(model), "--out", str(out), "--length", "24", "--batch-size", "1", "--save-every", "1",
                 "--dropout", "0.2", "--epochs", "20"]
        return subprocess.Popen([sys.executable, "-c", "from retrograde.cli import main; raise SystemExit(main())", "finetune", *words],
                                stdout=subprocess.DEVNULL, cwd=Path(__file__).parents[2])

    assert started(tmp_path / "whole").wait() == 0
    for _ in range(12):
        process = started(tmp_path / "parts")
        try:
            assert process.wait(2 + 6 * rng.random()) == 0
            break
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    else:
        assert started(tmp_path / "parts").wait() == 0
    assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize(("data", "options", "message"), [
    ([{"text": "a"}], {}, "data is the path of a file of JSON lines"), ("x.jsonl", {"out": 5}, "out is the path of the folder"),
    ("x.jsonl", {"targets": 5}, "targets must be texts"), ("x.jsonl", {"alpha": 0}, "alpha must be above 0"),
    ("x.jsonl", {"held_out": "x"}, "held_out is the part")])
def test_settings_of_no_training_are_refused_before_files_are_read(data, options, message):
    with pytest.raises(rg.errors.ArgumentError, match=message):
        models.finetune(model_of(), data, **{"out": "none", **options})
    for model, told in ((5, "finetune takes a Model"), (reference.network_of(), "finetune takes a Model")):
        with pytest.raises(rg.errors.ArgumentError, match=told):
            models.finetune(model, data, "none")


def test_rows_are_as_long_as_the_model_can_read(tmp_path):
    path = written(tmp_path / "x.jsonl", RECORDS[:4])
    models.finetune(model_of(), path, tmp_path / "out", **{**OPTIONS, "length": None, "epochs": 1})
    assert json.loads((tmp_path / "out" / "finetune.json").read_text())["length"] == 64


def test_a_mark_of_the_order_of_bytes_is_no_part_of_a_file(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b'{"text": "the cat"}\n{"text": "a dog"}\n')
    assert len(read_examples(path, model_of(), 16).examples) == 2
    assert next(iter(rg.data.text_lines(path))) == '{"text": "the cat"}'
