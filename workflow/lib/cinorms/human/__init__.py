"""Ratings by people: read from a survey's file, without anything that names a person, as the answers of an arm."""
