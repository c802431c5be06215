"""The gate: did a model's norms change against a base, judged by the claims of a policy, with an exit code for CI."""
