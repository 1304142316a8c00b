"""The agent's side for MCP: a server of our own, and a gateway that puts the contract in front of any other.

`import mcp` means the protocol's official SDK here as everywhere; it comes with the extra `retrycontract[mcp]`.
"""
