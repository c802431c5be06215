"""Prompts for another tool and the responses that it collected: what goes out, what comes back, how both match."""
