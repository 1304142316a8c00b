"""Stand between any client of OpenAI's or Anthropic's API and its upstream, and hold what the model writes to contract.

The contract comes with each request: its tools and the schema of its output. Nothing is registered, no client changes
more than its base URL.
"""
