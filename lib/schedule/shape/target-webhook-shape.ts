import * as z from "zod";
import { isReservedHeader } from "../../webhook/webhook-headers.ts";
import { isSealed, sealedMark } from "./sealed-text.ts";
import { storableText } from "./text.ts";
import { textRecord } from "./text-record.ts";
import { parametersOf } from "./webhook-parameters.ts";

const urlLengthMax = 2_048;
const hostLengthMax = 253;
const headersMax = 20;
const headerCharactersMax = 8_000;
const secretBytes = { min: 24, max: 64 };

/**
 * Why a URL is not allowed for any webhook; null if it is. The deployment decides which hosts are
 * allowed.
 */
function urlFault(text: string): string | null {
  if (text.length > urlLengthMax) return `takes at most ${urlLengthMax} characters`;
  // Some readers drop blanks, and some read `\` as `/`. A URL with several readings is refused.
  if (/[\s\p{Cc}\\]/u.test(text)) return "takes a URL without blanks and `\\`";
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    return "takes a URL such as `https://example.com/hook`";
  const { hostname, username, password, hash } = new URL(text);
  // Measured in the form in which it is resolved, which is also part of the target's name. A host
  // in another alphabet is longer in that form.
  if (hostname.length > hostLengthMax) return `takes a host of at most ${hostLengthMax} characters`;
  if (username !== "" || password !== "")
    return "takes no user and no password: send them in the header `authorization`";
  if (parametersOf(text).some(({ value }) => isSealed(value))) return `has a parameter that ${notSealed}`;
  return hash === "" && !text.includes("#") ? null : "takes no `#`: the part after it is never sent";
}

const notSealed = `begins with \`${sealedMark}\`, as stored credentials do: send the value itself, or \`***\` for the stored one`;

const headers = textRecord(
  z
    .string()
    .max(100)
    .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, "is not a valid name of a header")
    .refine((name) => !isReservedHeader(name), "is a header that Carillon sets itself"),
  z
    .string()
    .regex(
      /^([\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?)?$/,
      "takes printable ASCII characters without blanks at the ends",
    )
    .refine((value) => !isSealed(value), notSealed),
)
  .refine((given) => Object.keys(given).length <= headersMax, `takes at most ${headersMax} headers`)
  .refine(
    (given) => Object.entries(given).flat().join("").length <= headerCharactersMax,
    `takes at most ${headerCharactersMax} characters`,
  )
  .refine(
    (given) =>
      new Set(Object.keys(given).map((name) => name.toLowerCase())).size === Object.keys(given).length,
    "names a header twice: small and capital letters mean the same here",
  )
  .meta({ maxProperties: headersMax })
  .default({});

function isSecret(text: string): boolean {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  if (base64 === undefined) return false;
  const bytes = Buffer.from(base64, "base64");
  return (
    bytes.toString("base64") === base64 && bytes.length >= secretBytes.min && bytes.length <= secretBytes.max
  );
}

const secretTakes = `takes \`whsec_\` and ${secretBytes.min} to ${secretBytes.max} random bytes in base64`;
const secretPattern = "whsec_[A-Za-z0-9+/]{32,88}={0,2}";
const newSecret = z
  .string()
  .refine(isSecret, secretTakes)
  .meta({ pattern: `^${secretPattern}$` });
const secretOrKept = z
  .string()
  .refine((text) => isKept(text) || isSecret(text), secretTakes)
  .meta({ pattern: `^(${secretPattern}|\\*\\*\\*)$` });

/** One secret, or two during a rotation, the newest first. Stored as a list. */
const secret = z
  .union([secretOrKept.transform((one) => [one]), z.tuple([newSecret]), z.tuple([newSecret, secretOrKept])], {
    error: "takes one secret, or a list of two, the newest first",
  })
  .transform((list): string[] => [...list]);

const secretNames = z.array(z.string().min(1).max(100)).max(headersMax).optional();

export const webhookTarget = z.strictObject({
  webhook: z
    .strictObject({
      url: storableText({ max: 10_000 })
        .superRefine((text, context) => {
          const fault = urlFault(text);
          if (fault !== null) context.addIssue({ code: "custom", message: fault });
        })
        .meta({ maxLength: urlLengthMax, pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^\\s\\\\#]+$" }),
      method: z.enum(["POST", "PUT"]).default("POST"),
      headers,
      secret: secret
        .optional()
        .describe("One secret to sign with, or two during a rotation, the newest first. Read back as `***`."),
      secretHeaders: secretNames.describe(
        "Headers whose values are credentials, beside those with a name such as `authorization`. Their values read back as `***`.",
      ),
      secretQuery: secretNames.describe(
        "Parameters of the URL whose values are credentials, beside those with a name such as `token`. Their values read back as `***`.",
      ),
    })
    .superRefine(refuseUnknownSecretNames),
});

/** A misspelt name would leave a credential in clear. */
function refuseUnknownSecretNames(
  {
    url,
    headers: given,
    secretHeaders = [],
    secretQuery = [],
  }: {
    url: string;
    headers: Readonly<Record<string, string>>;
    secretHeaders?: readonly string[] | undefined;
    secretQuery?: readonly string[] | undefined;
  },
  context: z.RefinementCtx,
): void {
  const names = new Set(Object.keys(given).map((name) => name.toLowerCase()));
  const parameters = new Set(parametersOf(url).map(({ name }) => name));
  const refuse = (path: (string | number)[], message: string) =>
    context.addIssue({ code: "custom", path, message });
  for (const [index, name] of secretHeaders.entries())
    if (!names.has(name.toLowerCase())) refuse(["secretHeaders", index], "is not the name of a header here");
  for (const [index, name] of secretQuery.entries())
    if (!parameters.has(name)) refuse(["secretQuery", index], "is not a parameter of the URL");
}

export type WebhookTarget = z.output<typeof webhookTarget>;

export function isKept(text: string): boolean {
  return text === kept;
}

/**
 * Shown in place of a webhook's secrets and of headers with credentials, which can be written but
 * never read. In a written body it stands for the stored value, so a schedule can be put back as it
 * was read.
 */
export const kept = "***";
