// What a failed tool call rejects with. The fields are the host's answer.
class ToolError extends Error {
  constructor(failure) {
    const { message, code, status, retryable, retry_after_ms, details, tool } = failure;
    super(message ?? "the tool failed and did not say why");
    const field = (name, value) => {
      if (value !== undefined && value !== null) {
        defineProperty(this, name, {
          __proto__: null, value, writable: true, enumerable: true, configurable: true,
        });
      }
    };
    field("code", code ?? "error");
    field("status", status);
    field("retryable", retryable ?? false);
    field("retryAfterMs", retry_after_ms);
    field("details", details);
    field("tool", tool);
  }
}
define(ToolError.prototype, "name", "ToolError");
freeze(ToolError.prototype);
freeze(ToolError);

// An error of a name that has no class here: AbortError, DataCloneError.
const named = (name, message) => {
  const error = new PrimordialError(message);
  define(error, "name", name);
  return error;
};
