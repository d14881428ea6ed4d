const parentPollMs = 200;

/**
 * Resolves at a signal, or at the end of the parent npm: when npm is killed it cannot pass on a
 * signal, and this program would keep running. The same where a program started this one with a
 * channel, as `carillon dev` does, and when the reader of its output is gone (`npm start | head`):
 * without a listener each line of the log would fail as an exception, and log that in turn.
 */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolve());
    process.on("disconnect", () => resolve());
    for (const output of [process.stdout, process.stderr]) output.on("error", () => resolve());
    if (process.env["npm_lifecycle_event"] === undefined) return;
    const parent = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(watch);
      resolve();
    }, parentPollMs);
    watch.unref();
  });
}
