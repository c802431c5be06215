"""The numbers that a paper prints, compared with those computed here."""
