import type { CredentialKey, SealedAgain } from "../../client/main.ts";
import { type Call, command } from "../command.ts";
import { yesOption } from "../common-options.ts";
import { UsageFault } from "../fault.ts";
import type { Output } from "../output/output.ts";
import { counted } from "../output/table.ts";

const options = { ...yesOption } as const;

type CredentialsCall = Call<keyof typeof options>;

export const credentialsCommand = command({
  name: "credentials",
  group: "Operation",
  summary: "List and change the keys that seal credentials of webhooks",
  usage: "ls | rotate | seal-again",
  about:
    "rotate makes a new key and seals all stored credentials with it, 200 versions at a time; seal-again does the second part alone, and goes on after one that was cut off. Old keys are deleted by the first seal-again that finds nothing to do, ten minutes later at the earliest. Needs a token of scope admin for all keys.",
  words: { min: 1, max: 1 },
  options,
  examples: [
    "carillon credentials ls",
    "carillon credentials rotate --yes",
    "carillon credentials seal-again",
  ],
  run: async (call) => {
    const { words, given, client, out, signal } = call;
    const [verb] = words;
    if (verb === "ls")
      return out.table(columns(out), await client.credentialKeys.list({ signal }), "There is no key.");
    if (verb === "rotate") {
      await call.confirm("Make a new key and seal all credentials of webhooks with it?", given.flag("yes"));
      const { id } = await client.credentialKeys.make({ signal });
      out.note(`Key ${id} seals new credentials.`);
    } else if (verb !== "seal-again")
      throw new UsageFault("carillon credentials takes ls, rotate or seal-again.");
    return sealAll(call);
  },
});

/** A whole pass. Each step is a request of its own, so a pass that is cut off has kept what it did. */
async function sealAll({ client, out, signal }: CredentialsCall): Promise<void> {
  const sum: Required<Omit<SealedAgain, "cursor">> = { looked: 0, sealed: 0, unopened: [], removed: [] };
  let cursor: string | undefined;
  do {
    const step = await client.credentialKeys.sealAgain({ cursor }, { signal });
    sum.looked += step.looked;
    sum.sealed += step.sealed;
    sum.unopened.push(...step.unopened);
    sum.removed.push(...step.removed);
    cursor = step.cursor;
  } while (cursor !== undefined);
  if (out.isJson) return out.json(sum);
  const versions = counted(sum.looked, "version");
  out.line(`Sealed again: ${counted(sum.sealed, "credential")}, of ${versions} with a webhook.`);
  for (const { key, version } of sum.unopened)
    out.line(`No key opens a credential of ${key}, version ${version}: send it again.`);
  if (sum.removed.length > 0) out.line(`Deleted keys that seal nothing any more: ${sum.removed.join(", ")}.`);
}

function columns({ times }: Output) {
  return [
    {
      title: "KEY",
      text: ({ id, current }: CredentialKey) => `${id}${current ? " (seals)" : ""}`,
      whole: true,
    },
    { title: `MADE (${times.zone})`, text: ({ madeAt }: CredentialKey) => times.both(madeAt), narrowest: 19 },
    { title: "BY", text: ({ madeBy }: CredentialKey) => madeBy },
  ];
}
