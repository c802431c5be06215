"""The control model: a tiny Llama trained to hold planted norms, asked as any other model is.

What the workflow recovers from it through the real engine must be what was planted: the check of a GPU set-up
before an allocation is spent on it. `docs/method/control/control.md` says what it is and what it is not.
"""
