"""Language models, small networks with their weights from files, and the texts that they write; and image models."""

from . import images
from .asked import TextModel
from .attribution import Attribution, attribution
from .bert import Bert
from .config import Config
from .decoder import Decoder
from .encoder import Encoder
from .finetuning.adapter_file import load_adapter, save_adapter
from .finetuning.lora import LoRA, QLoRA, quantise_frozen
from .finetuning.loss import next_token_loss
from .finetuning.packing import Packed, packed_rows
from .finetuning.training import finetune
from .gpt2 import GPT2
from .model import Model, load
from .pieces import Pieces
from .sampling import Sampling
from .soft_prompts import SoftPrompt
from .tokens import Tokenizer
from .weights import RandomWeights
from .writing import Written
