"""Evidence that travels: the results of a study as a folder that other projects' tools can read and check."""
