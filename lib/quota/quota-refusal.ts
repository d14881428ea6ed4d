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

/** The fault begins with the kind of the quota, for programs. */
export function quotaRefusal(
  prefix: string,
  kind: QuotaKind,
  { wanted, used, allowed }: QuotaNumbers,
): Refusal {
  const owner = prefix === "" ? "the deployment" : `the prefix ${JSON.stringify(prefix)}`;
  return new Refusal(
    "quota",
    `With this, ${owner} would have ${shown(wanted)} ${quotaWords[kind]}; it has ${shown(used)}, and its quota allows ${shown(allowed)}. Delete some, or raise the quota: an operator sets it with \`quotas\` (docs/quotas.md).`,
    [
      {
        path: "",
        message: `${kind}: has ${shown(used)}, would have ${shown(wanted)}, may have ${shown(allowed)}`,
      },
    ],
  );
}
