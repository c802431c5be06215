"""The control model: a tiny Llama trained to hold planted norms, asked as any other model is.

The workflow must recover from it, through the real engine, what was planted: this checks a GPU set-up before an
allocation is spent on it. `docs/method/control/control.md` explains what it is and what it is not.
"""
