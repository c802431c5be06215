"""From answers to norms: the multi-prompt assessment, privacy bias, and distances from expected values."""
