"""What the papers' authors published: scored frames, raw files of responses, printed numbers."""
