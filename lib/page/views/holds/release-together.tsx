import { useQuery } from "@tanstack/react-query";
import type { Carillon } from "../../../client/carillon.ts";
import type { BulkAction, BulkPreview } from "../../../client/schedule.ts";
import { amountText, countText, isOrAre } from "../../data/amounts.ts";
import { addPart, type Changed, changeAll, changingText, noneChanged } from "../../data/bulk/change-all.ts";
import { releasedText } from "../../data/bulk/released-text.ts";
import { selectedMax } from "../../data/bulk/selected-max.ts";
import { ownTokenQuery } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Confirm } from "../../parts/dialog/confirm.tsx";
import { holdText, type ReleaseProps } from "../../parts/release/release-props.ts";

interface ReleaseTogetherProps extends ReleaseProps {
  owner: string;
  keys: readonly string[];
  /** How many holds of the row stay, because their maker reached more keys than this token. */
  wider: number;
  /** Holds that were set with these may be on the board and not loaded yet. */
  hasMore: boolean;
}

type Counted = Required<Pick<BulkPreview, "count" | "more" | "paused">>;

/** Ends the holds of one owner that were set together, after a dry run of the server. */
export function ReleaseTogether({
  owner,
  keys,
  wider,
  hasMore,
  button,
  title,
  onOpenChange,
}: ReleaseTogetherProps) {
  const { carillon } = useSession();
  const own = useQuery(ownTokenQuery(carillon));
  const hold = holdText(owner, own.data?.holdOwner);
  const actions = actionsOn(keys, owner);
  return (
    <Confirm<Counted>
      button={button}
      title={title}
      previewKey={["release together", owner, keys]}
      preview={(signal) => tryAll(carillon, actions, signal)}
      describe={({ count, more, paused }) => (
        <p>
          {hold} ends on <b>{amountText({ count, more }, "schedule")}</b>. {countText(paused)} of them{" "}
          {isOrAre(paused)} held now; those with another hold stay held.
          {wider === 0 ? "" : ` ${stayText(wider)}`}
          {hasMore ? " The board has more of these holds, which are not loaded yet; they stay." : ""}
        </p>
      )}
      verb={({ count, more }) => (count === 0 ? null : `Release ${amountText({ count, more }, "schedule")}`)}
      isStoppable
      act={async ({ reason, seen, progress, isStopped }) => {
        const { done, ...rest } = await changeEach(carillon, {
          actions: reason === "" ? actions : actions.map((each) => ({ ...each, reason })),
          onPart: (released) => progress(changingText(released, seen, "released")),
          isStopped,
        });
        const after = await tryAll(carillon, actions).catch(() => undefined);
        const released = releasedText({ hold, done, held: after?.paused, rest });
        return wider === 0 ? released : `${released} ${stayText(wider)}`;
      }}
      onOpenChange={onOpenChange}
    />
  );
}

function stayText(wider: number): string {
  const others = amountText(
    { count: wider, more: false },
    "other hold of this row stays",
    "other holds of this row stay",
  );
  return `${others}: set by a token that reaches more keys than yours.`;
}

/** One call takes a limited number of keys. */
function actionsOn(keys: readonly string[], owner: string): BulkAction[] {
  const calls = Math.ceil(keys.length / selectedMax);
  return Array.from({ length: calls }, (_, n) => ({
    verb: "resume",
    owner,
    keys: keys.slice(n * selectedMax, (n + 1) * selectedMax),
  }));
}

async function tryAll(
  carillon: Carillon,
  actions: readonly BulkAction[],
  signal?: AbortSignal,
): Promise<Counted> {
  const sum: Counted = { count: 0, more: false, paused: { count: 0, more: false } };
  for (const action of actions) {
    const { count, more, paused } = await carillon.schedules.tryMany(action, { signal });
    sum.count += count;
    sum.more ||= more;
    sum.paused.count += paused?.count ?? 0;
    sum.paused.more ||= paused?.more ?? false;
  }
  return sum;
}

interface ChangingEach {
  actions: readonly BulkAction[];
  onPart(done: number): void;
  isStopped(): boolean;
}

async function changeEach(
  carillon: Carillon,
  { actions, onPart, isStopped }: ChangingEach,
): Promise<Changed> {
  const sum: Changed = { ...noneChanged(), isStopped: false };
  for (const [n, action] of actions.entries()) {
    const before = sum.done;
    const part = await changeAll(carillon, { action, onPart: (done) => onPart(before + done), isStopped });
    addPart(sum, part);
    sum.isStopped = part.isStopped || (isStopped() && n + 1 < actions.length);
    if (sum.isStopped) break;
  }
  return sum;
}
