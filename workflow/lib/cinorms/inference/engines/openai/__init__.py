"""The engine openai: any endpoint that speaks OpenAI's API, live or by its Batch API."""
