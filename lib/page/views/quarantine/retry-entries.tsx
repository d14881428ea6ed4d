import { amountText, isNone, numberText } from "../../data/amounts.ts";
import { useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Confirm } from "../../parts/dialog/confirm.tsx";

/** Makes the listed entries due, so that the next tick retries them. */
export function RetryEntries({ prefix }: { prefix: string | undefined }) {
  const { carillon } = useSession();
  if (!useMay("retryQuarantine")) return null;
  return (
    <Confirm<{ count: number; more: boolean }>
      button="Retry now …"
      title="Retry these rows?"
      previewKey={["quarantine", prefix]}
      preview={async (signal) => {
        const { items, cursor } = await carillon.quarantine.list({ prefix, signal }).page();
        return { count: items.length, more: cursor !== undefined };
      }}
      describe={(seen) => (
        <p>
          <b>{amountText(seen, "row is", "rows are")}</b> tried at the next tick, without the pause that
          follows each failure.
        </p>
      )}
      verb={(seen) => (isNone(seen) ? null : "Retry at the next tick")}
      act={async ({ progress }) => {
        let done = 0;
        let cursor: string | undefined;
        do {
          const part = await carillon.quarantine.retry({ prefix }, { cursor });
          done += part.done;
          cursor = part.cursor;
          progress({ text: `${numberText(done)} rows …` });
        } while (cursor !== undefined);
        return `${amountText({ count: done, more: false }, "row is", "rows are")} tried at the next tick.`;
      }}
      hasNoReason
    />
  );
}
