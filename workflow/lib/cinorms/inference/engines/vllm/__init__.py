"""The engine vllm: a checkpoint loaded on GPUs (or CPUs) by vLLM."""
