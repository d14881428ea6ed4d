import type { ErrorComponentProps } from "@tanstack/react-router";

/** A fault of the page itself. Faults of the API are shown where its data would be. */
export function ViewFault({ error, reset }: ErrorComponentProps) {
  return (
    <div className="blank" role="alert">
      <h1>This view has failed</h1>
      <p className="quiet">That is a fault of the page, not of your schedules. They go on.</p>
      <pre>{error instanceof Error ? error.message : String(error)}</pre>
      <button type="button" className="button" onClick={reset}>
        Try again
      </button>
    </div>
  );
}
