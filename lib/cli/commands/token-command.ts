import type { NewToken, OwnToken, TokenSummary } from "../../client/main.ts";
import { type Call, type Command, command } from "../command.ts";
import { listOptions, yesOption } from "../common-options.ts";
import { Missing, UsageFault } from "../fault.ts";
import { instantFrom } from "../input.ts";
import { pageSize, someOf } from "../listed.ts";
import type { Output } from "../output/output.ts";
import { printable } from "../output/style.ts";
import { oneOf } from "../schedule-filter.ts";

const options = {
  scope: { value: "scope", about: "For create: read, write or admin; default: read" },
  prefix: { value: "prefix", about: "For create: the token reaches keys that begin with this" },
  expires: { value: "instant", about: "For create: when the token expires, such as `in 90d`" },
  rate: { value: "rate", about: "For create: the rate of its requests, such as 100/s" },
  overlap: {
    value: "duration",
    about: "For rotate: how long the old secret stays valid; default: 24h, and 0s ends it at once",
  },
  out: {
    value: "file",
    about: "For create and rotate: the file for the secret, readable only by you; default: stdout",
  },
  ...yesOption,
  ...listOptions,
} as const;

type TokenCall = Call<keyof typeof options>;

const token = command({
  name: "token",
  group: "Operation",
  summary: "Make, list, rotate and remove tokens",
  usage: "create <name> | ls | get <id> | rotate <id> | rm <id>",
  about:
    "A secret is shown once: --out writes it into a file of mode 0600, which exists once the token does. Without --out the secret is the only text on stdout; set `umask 077` before you redirect it into a file. Needs a token of scope admin. Takes a token's name as well as its id.",
  words: { min: 1, max: 2 },
  options,
  examples: [
    `carillon token create ci --scope write --prefix ci: --expires "in 90d" --out ci.token`,
    "carillon token ls",
    "carillon token rotate ci --out ci.token",
    "carillon token rm ci --yes",
  ],
  run: async (call) => {
    const { words, given, client, out, signal } = call;
    const [verb = "", name] = words;
    if (verb === "ls") {
      showTokens(out, await someOf(call, client.tokens.list({ limit: pageSize(call), signal })));
      return;
    }
    if (!["create", "get", "rotate", "rm"].includes(verb))
      throw new UsageFault("carillon token takes create, ls, get, rotate or rm.");
    if (name === undefined)
      throw new UsageFault(
        `carillon token ${verb} takes ${verb === "create" ? "a name" : "an id or a name"}.`,
      );
    if (verb === "create") return create(call, name);
    const found = await find(call, name);
    if (verb === "get") showTokens(out, [found]);
    else if (verb === "rotate") {
      const overlap = given.text("overlap");
      await handOut(
        call,
        () => client.tokens.rotate(found.id, { overlap }, { signal }),
        ({ earlierUntil }) =>
          earlierUntil === null
            ? "The old secret is no longer valid."
            : `The old secret is valid until ${out.times.both(earlierUntil)}.`,
      );
    } else {
      await call.confirm(
        `Revoke the token ${JSON.stringify(found.name)}? Its callers are refused at once.`,
        given.flag("yes"),
      );
      await client.tokens.delete(found.id, { signal });
      if (out.isJson) out.json({ deleted: found.id });
      else out.line(`Revoked ${printable(found.name)}.`);
    }
  },
});

async function create(call: TokenCall, name: string): Promise<void> {
  const { given, client, signal } = call;
  const body = {
    name,
    scope: oneOf(given.text("scope"), ["read", "write", "admin"] as const, "--scope") ?? "read",
    prefix: given.text("prefix"),
    expiresAt: instantFrom(call, given.text("expires"), "--expires"),
    rate: given.text("rate"),
  };
  await handOut(
    call,
    () => client.tokens.create(body, { signal }),
    ({ scope, id }) => `Made ${printable(name)} (${scope}, ${id}); its secret is not shown again.`,
  );
}

async function handOut(
  { given, out, secretFile }: TokenCall,
  issue: () => Promise<NewToken>,
  note: (issued: NewToken) => string,
): Promise<void> {
  const name = given.text("out");
  const file = name === undefined ? undefined : await secretFile(name);
  try {
    const { token: secret, ...issued } = await issue();
    if (file !== undefined) await file.fill(`${secret}\n`);
    else if (!out.isJson) out.line(secret);
    if (!out.isJson) out.note(note({ ...issued, token: secret }));
    else out.json(file === undefined ? { ...issued, token: secret } : { ...issued, file: name });
  } finally {
    await file?.close();
  }
}

async function find({ client, signal }: TokenCall, idOrName: string): Promise<TokenSummary> {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(idOrName))
    return client.tokens.get(idOrName, { signal });
  const found: TokenSummary[] = [];
  for await (const each of client.tokens.list({ limit: 100, signal }))
    if (each.name === idOrName) found.push(each);
  const [first, ...others] = found;
  if (first === undefined)
    throw new Missing(`There is no token ${JSON.stringify(idOrName)}: carillon token ls.`);
  if (others.length > 0) throw new UsageFault(severalText(idOrName, found));
  return first;
}

function severalText(name: string, found: readonly TokenSummary[]): string {
  const ids = found.map(({ id, prefix }) => `${id} (${prefix === null ? "all keys" : printable(prefix)})`);
  return `${found.length} tokens have the name ${JSON.stringify(name)}. Give the id: ${ids.join(", ")}.`;
}

function showTokens(out: Output, tokens: readonly TokenSummary[]): void {
  const { times } = out;
  out.table(
    [
      { title: "NAME", text: ({ name }) => name },
      { title: "SCOPE", text: ({ scope }) => scope, whole: true },
      { title: "PREFIX", text: ({ prefix }) => prefix ?? "" },
      { title: "RATE", text: ({ rate }) => rate ?? "", whole: true },
      {
        title: "LAST USED",
        text: ({ lastUsedAt }) => (lastUsedAt === null ? "never" : times.relative(lastUsedAt)),
        whole: true,
      },
      {
        title: "EXPIRES",
        text: ({ expiresAt }) => (expiresAt === null ? "never" : times.relative(expiresAt)),
        whole: true,
      },
      { title: "MADE BY", text: ({ createdBy }) => createdBy },
      { title: "ID", text: ({ id }) => id, whole: true },
    ],
    tokens,
    "There is no token.",
  );
}

const whoami = command({
  name: "whoami",
  group: "Operation",
  summary: "Show your own token: its scope, prefix, rate and what it may do",
  usage: "",
  words: { min: 0, max: 0 },
  options: {},
  examples: ["carillon whoami", "carillon whoami --json"],
  run: async ({ client, out, signal }) => showOwn(out, await client.tokens.own({ signal })),
});

/** The words behind a rate that a token shares. */
const sharedWith = {
  token: "",
  maker: ", shared with the token that made it",
  prefix: ", of all tokens of its prefix",
} as const;

function showOwn(out: Output, own: OwnToken): void {
  if (out.isJson) {
    out.json(own);
    return;
  }
  const { name, signIn, scope, prefix, expiresAt, rate, holdOwner, createdAt, createdBy, lastUsedAt } = own;
  out.facts([
    ["name", `${printable(name)}${signIn === "token" ? "" : `, authenticated by the gateway (${signIn})`}`],
    ["scope", scope],
    ["keys", prefix === null ? "all" : `those that begin with ${printable(prefix)}`],
    ["expires", expiresAt === null ? "never" : out.times.both(expiresAt)],
    ["rate", rate === null ? "no limit" : `${rate.limit}${sharedWith[rate.of]}, ${rate.left} left`],
    ["owner of its holds", printable(holdOwner)],
    ["made", `${out.times.both(createdAt)} by ${printable(createdBy)}`],
    ["last used", lastUsedAt === null ? "never before" : out.times.both(lastUsedAt)],
  ]);
  for (const { area, operations } of own.may) {
    out.line();
    out.line(out.paint(area, "bold"));
    for (const { what } of operations) out.line(`  ${what}`);
  }
}

export const tokenCommands: readonly Command[] = [token, whoami];
