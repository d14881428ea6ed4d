import type { DeadCommand } from "../../../client/commands.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Confirm } from "../../parts/dialog/confirm.tsx";
import { Instant } from "../../parts/instant.tsx";

/** Takes a refused command off the list, after a question. */
export function ForgetCommand({ id }: { id: string }) {
  const { carillon } = useSession();
  return (
    <Confirm<DeadCommand>
      button="Forget …"
      title="Forget this command?"
      previewKey={["forget", id]}
      preview={(signal) => carillon.commands.get(id, { signal })}
      describe={({ key, refusedAt }) => (
        <p>
          The command for <b className="mono">{key ?? "an unreadable key"}</b>, refused{" "}
          <Instant at={refusedAt} />, leaves this list and is not applied. Its message stays in the
          dead-letter queue.
        </p>
      )}
      verb={() => "Forget it"}
      act={async () => {
        await carillon.commands.delete(id);
        return "The command is forgotten.";
      }}
      isDangerous
      hasNoReason
    />
  );
}
