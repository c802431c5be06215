"""Studies: settings in layers, every name looked up, the spec of each job, and the plan."""
