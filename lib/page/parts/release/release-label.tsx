import { useQuery } from "@tanstack/react-query";
import { countText } from "../../data/amounts.ts";
import { inParts } from "../../data/bulk/in-parts.ts";
import { releasedText } from "../../data/bulk/released-text.ts";
import { ownTokenQuery } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Confirm } from "../dialog/confirm.tsx";
import { holdText, type ReleaseProps } from "./release-props.ts";

interface ReleaseLabelProps extends ReleaseProps {
  scope: "group" | "tag";
  name: string;
  owner: string;
  /** The hold covers members whose keys begin with this; null for all. */
  prefix: string | null;
}

interface Held {
  count: number;
  more: boolean;
}

/** Ends an owner's hold of a group or a tag, after the server counted which members are held. */
export function ReleaseLabel({ scope, name, owner, prefix, button, title, onOpenChange }: ReleaseLabelProps) {
  const { carillon } = useSession();
  const own = useQuery(ownTokenQuery(carillon));
  const hold = holdText(owner, own.data?.holdOwner);
  const labels = scope === "group" ? carillon.groups : carillon.tags;
  const filter = { [scope]: name, state: "paused", ...(prefix === null ? {} : { prefix }) } as const;
  const countHeld = (signal?: AbortSignal) => carillon.schedules.count({ ...filter, signal });
  return (
    <Confirm<Held>
      button={button}
      title={title}
      previewKey={["release", scope, name, owner, prefix]}
      preview={countHeld}
      describe={(held) => (
        <p>
          {hold} of the {scope} ends. <b>{countText(held)}</b> of its schedules are held now; those with
          another hold stay held.
        </p>
      )}
      verb={() => `Release the ${scope}`}
      act={async ({ progress }) => {
        const { done } = await inParts((cursor) => labels.resume(name, { owner }, { cursor }), progress);
        const held = await countHeld().catch(() => undefined);
        return releasedText({ hold, done, held });
      }}
      hasNoReason
      onOpenChange={onOpenChange}
    />
  );
}
