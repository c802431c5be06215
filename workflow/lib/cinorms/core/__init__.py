"""What every stage shares: errors, tables, logs, scales, random draws, files that are fetched, checks of YAML."""
