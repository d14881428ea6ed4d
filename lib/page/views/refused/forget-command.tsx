import type { Carillon } from "../../../client/carillon.ts";
import { type RefusedCommand, type RefusedSource, readRefused } from "../../data/refused-queries.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Confirm } from "../../parts/dialog/confirm.tsx";
import { Instant } from "../../parts/time/instant.tsx";

/** Takes a refused command off the list, after a question. */
export function ForgetCommand({ of, id }: { of: RefusedSource; id: string }) {
  const { carillon } = useSession();
  return (
    <Confirm<RefusedCommand>
      button="Forget …"
      title="Forget this command?"
      previewKey={["forget", of, id]}
      preview={(signal) => readRefused(carillon, { of, id, signal })}
      describe={({ key, refusedAt }) => (
        <p>
          The command for <b className="mono">{key ?? "an unreadable key"}</b>, refused{" "}
          <Instant at={refusedAt} />, leaves this list and is not applied.
          {of === "queue" ? " Its message stays in the dead-letter queue." : null}
        </p>
      )}
      verb={() => "Forget it"}
      act={async () => {
        await forgetCommand(carillon, of, id);
        return "The command is forgotten.";
      }}
      isDangerous
      hasNoReason
    />
  );
}

export const forgetCommand = (carillon: Carillon, of: RefusedSource, id: string): Promise<void> =>
  of === "queue" ? carillon.commands.delete(id) : carillon.inbox.forget(id);
