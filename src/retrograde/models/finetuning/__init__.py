"""Fine-tuning of language models: adapters beside frozen layers, their files, the loss, and the training."""
