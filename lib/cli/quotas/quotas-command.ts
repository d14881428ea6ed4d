import type { Quotas, QuotaUse } from "../../client/main.ts";
import { command } from "../command.ts";
import { listOptions } from "../common-options.ts";
import { pageSize, someOf } from "../listed.ts";

const options = {
  ...listOptions,
  near: { about: "Only quotas of which four fifths or more are used" },
} as const;

/** A quota of one prefix, as a line of the table. */
interface Line extends QuotaUse {
  prefix: string;
  quota: string;
}

export const quotasCommand = command({
  name: "quotas",
  group: "Operation",
  summary: "Show what prefixes use of their quotas",
  usage: "[--near]",
  about:
    "The prefixes that the token reaches, and those that limit it. A prefix is shown from its first token on that may write, or from its first edit on. An edit beyond a quota is refused; the deployment's setting `quotas` raises it.",
  words: { min: 0, max: 0 },
  options,
  examples: ["carillon quotas", "carillon quotas --near --all"],
  run: async (call) => {
    const { given, client, out, signal } = call;
    const found = await someOf(call, client.tokens.quotas({ limit: pageSize(call), signal }));
    const isNear = given.flag("near")
      ? ({ used, allowed }: QuotaUse) => partOf(used, allowed) >= 80
      : () => true;
    if (out.isJson) {
      const shown = given.flag("near") ? found.filter((quotas) => linesOf(quotas).some(isNear)) : found;
      for (const quotas of shown) out.json(quotas);
      return;
    }
    const none = given.flag("near") ? "No quota is nearly used up." : "No prefix has schedules yet.";
    out.table(columns, found.flatMap(linesOf).filter(isNear), none);
  },
});

function linesOf({ prefix, ...quotas }: Quotas): Line[] {
  return Object.entries(quotas).map(([quota, use]) => ({ prefix, quota, ...use }));
}

/** In percent, rounded down: 100 means that nothing fits. 0 without a limit. */
function partOf(used: number, allowed: number | null): number {
  if (allowed === null) return 0;
  return allowed === 0 ? 100 : Math.floor((used / allowed) * 100);
}

const columns = [
  { title: "PREFIX", text: ({ prefix }: Line) => prefix },
  { title: "QUOTA", text: ({ quota }: Line) => quota, whole: true },
  { title: "USED", text: ({ used }: Line) => used.toLocaleString("en-GB"), align: "right", whole: true },
  {
    title: "ALLOWED",
    text: ({ allowed }: Line) => allowed?.toLocaleString("en-GB") ?? "no limit",
    align: "right",
    whole: true,
  },
  {
    title: "PART",
    text: ({ used, allowed }: Line) => (allowed === null ? "" : `${partOf(used, allowed)} %`),
    align: "right",
    whole: true,
    colour: ({ used, allowed }: Line) => (partOf(used, allowed) >= 80 ? "red" : undefined),
  },
] as const;
