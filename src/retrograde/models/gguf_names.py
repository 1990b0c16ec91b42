"""What tensors are called in GGUF files, by their names in Hugging Face's."""

import re

_LLAMA = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
          "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
          "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
          "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate",
          "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
#: By architecture, where it is not as in Llama.
_PARTS = {
    "gemma3": {**_LLAMA, "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
               "post_feedforward_layernorm": "post_ffw_norm"},
    "gpt2": {"transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm",
             "lm_head": "output", "ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output",
             "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"},
    "bert": {"bert.embeddings.word_embeddings": "token_embd", "bert.embeddings.position_embeddings": "position_embd",
             "bert.embeddings.token_type_embeddings": "token_types", "bert.embeddings.LayerNorm": "token_embd_norm",
             "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
             "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
             "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
             "bert.pooler.dense": "cls", "classifier": "cls.output"}}
_NAME = re.compile(r"(?:(?:model\.layers|transformer\.h|bert\.encoder\.layer)\.(\d+)\.)?(.*)\.(weight|bias)")


def gguf_name(architecture):
    """A function from the name of a tensor in Hugging Face's files to that in GGUF files."""
    parts = _PARTS.get(architecture, _LLAMA)

    def rename(name):
        match = _NAME.fullmatch(name)
        if match is None or match[2] not in parts:
            return name
        layer = "" if match[1] is None else f"blk.{match[1]}."
        return f"{layer}{parts[match[2]]}.{match[3]}"

    return rename
