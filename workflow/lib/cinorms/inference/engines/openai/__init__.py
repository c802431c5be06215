"""The engine openai: any endpoint that speaks OpenAI's API."""
