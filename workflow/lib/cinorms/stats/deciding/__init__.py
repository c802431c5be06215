"""Asking until the verdict on a flow is decided: who is asked what next, and with what risk (docs/method/inference)."""
