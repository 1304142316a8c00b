"""Tell what the model probably meant, and propose the patch that would mend it; nothing is applied by itself."""

from retrycontract.contract.advice.names import did_you_mean, near, unmistakable
from retrycontract.contract.advice.proposals import combined_patch, propose

__all__ = ["combined_patch", "did_you_mean", "near", "propose", "unmistakable"]
