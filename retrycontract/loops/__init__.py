"""Drive a model until what it writes conforms: agent responses, source files and structured extraction.

With a service as the contract every attempt is stored there, and a person is asked when the model is stuck.

The engine that all loops share is described in `retrycontract.loops.engine`. No provider's package is imported.
"""

from __future__ import annotations

from retrycontract.contract.webhooks import ResponseStatus
from retrycontract.judging.judge import AsynchronousError
from retrycontract.loops.agent_responses import (
    AGENT_RESPONSE_SCHEMA,
    MAX_FORMATTING_RETRIES,
    AgentResponse,
    FormattingCorrectionExhaustedError,
    HumanInterventionRequired,
    Invalid,
    ResponseRecord,
    Valid,
    correct_with_retry,
    correct_with_retry_async,
    respond_with_correction,
    respond_with_correction_async,
    validate,
)
from retrycontract.loops.asking import ApiPatience, ExtractionMetrics
from retrycontract.loops.engine import Trial
from retrycontract.loops.extraction import MaxRetriesExceeded, Rejected, extract, extract_async
from retrycontract.loops.failures import ModelApiError, ModelUnusableError
from retrycontract.loops.models import (
    AnthropicModel,
    CallableModel,
    Completion,
    Model,
    OfferedTool,
    OpenAIModel,
    ToolCall,
    ToolModel,
    Usage,
)
from retrycontract.loops.source_files import (
    MAX_FILE_RETRIES,
    ImplementationError,
    RetryContext,
    build_retry_prompt,
    generate_file_with_retry,
    generate_file_with_retry_async,
)

__all__ = [
    "AGENT_RESPONSE_SCHEMA",
    "MAX_FILE_RETRIES",
    "MAX_FORMATTING_RETRIES",
    "AgentResponse",
    "AnthropicModel",
    "ApiPatience",
    "AsynchronousError",
    "CallableModel",
    "Completion",
    "ExtractionMetrics",
    "FormattingCorrectionExhaustedError",
    "HumanInterventionRequired",
    "ImplementationError",
    "Invalid",
    "MaxRetriesExceeded",
    "Model",
    "ModelApiError",
    "ModelUnusableError",
    "OfferedTool",
    "OpenAIModel",
    "Rejected",
    "ResponseRecord",
    "ResponseStatus",
    "RetryContext",
    "ToolCall",
    "ToolModel",
    "Trial",
    "Usage",
    "Valid",
    "build_retry_prompt",
    "correct_with_retry",
    "correct_with_retry_async",
    "extract",
    "extract_async",
    "generate_file_with_retry",
    "generate_file_with_retry_async",
    "respond_with_correction",
    "respond_with_correction_async",
    "validate",
]
