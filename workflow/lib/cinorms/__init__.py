"""cinorms: the privacy norms that language models encode, measured."""

__version__ = "0.1.0"
