"""The program `retrycontract`: the contract from a shell, and the service with everything around it."""
