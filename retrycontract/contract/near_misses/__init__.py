"""Tell what the model probably meant, and propose the patch that would mend it; nothing is applied by itself."""

from retrycontract.contract.near_misses.names import did_you_mean

__all__ = ["did_you_mean"]
