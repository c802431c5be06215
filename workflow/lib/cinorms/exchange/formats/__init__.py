"""The formats in which prompts go to another tool and its responses come back: one module each, as ``FORMAT``."""
