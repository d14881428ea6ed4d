/**
 * Loaded into the stack's process before its program: it answers each message of the parent with the
 * memory that is left after a collection.
 */
process.on("message", () => {
  globalThis.gc?.();
  process.send?.(process.memoryUsage());
});
// The channel alone must not keep the process alive.
process.channel?.unref();
