import type { QuotaKind } from "../config/quota-setting.ts";
import { Refusal } from "../refusal.ts";
import { quotaWords } from "./quota-kinds.ts";

/** In the unit that callers read. */
export interface QuotaNumbers {
  /** The usage of the prefix with the refused change. */
  wanted: number;
  used: number;
  allowed: number;
}

const shown = (count: number) => count.toLocaleString("en-GB");

/** The fault begins with the kind of the quota, for programs; so in `dayRefusal`. */
export function quotaRefusal(
  prefix: string,
  kind: QuotaKind,
  { wanted, used, allowed }: QuotaNumbers,
): Refusal {
  return new Refusal(
    "quota",
    `With this, ${ownerOf(prefix)} would have ${shown(wanted)} ${quotaWords[kind]}; it has ${shown(used)}, and its quota allows ${shown(allowed)}. Delete some, or raise the quota: an operator sets it with \`quotas\` (docs/quotas.md).`,
    [
      {
        path: "",
        message: `${kind}: has ${shown(used)}, would have ${shown(wanted)}, may have ${shown(allowed)}`,
      },
    ],
  );
}

/** As `quotaRefusal`, where nothing that is deleted leaves room: only the end of the day does. */
export function dayRefusal(
  prefix: string,
  { wanted, used, allowed }: QuotaNumbers,
  dayEndsAt: Date,
): Refusal {
  const end = dayEndsAt.toISOString();
  return new Refusal(
    "quota",
    `With this, ${ownerOf(prefix)} would have ${shown(wanted)} ${quotaWords.payloadBytesPerDay}; it has ${shown(used)}, and its quota allows ${shown(allowed)} a day. The day ends at ${end}. Write less until then, or raise the quota \`payloadBytesPerDay\`: an operator sets it with \`quotas\` (docs/quotas.md).`,
    [
      {
        path: "",
        message: `payloadBytesPerDay: has ${shown(used)}, would have ${shown(wanted)}, may have ${shown(allowed)} until ${end}`,
      },
    ],
  );
}

function ownerOf(prefix: string): string {
  return prefix === "" ? "the deployment" : `the prefix ${JSON.stringify(prefix)}`;
}
