import { Token } from "aws-cdk-lib";
import { z } from "zod";
import { parseAllowedPrincipal } from "../../lib/config/allowed-principals.ts";
import { isOrigin, originForm } from "../../lib/config/cors-origins.ts";
import { textList, textOrToken, wholeNumber, yesOrNo } from "./shapes.ts";

/** In the place of a principal whose ARN nobody knows yet: its scope and prefix are known. */
const someRole = "arn:aws:iam::000000000000:role/some";

/** The HTTP API. */
export const apiSettings = {
  /** Which kind of API stands before it: an `http` API, or a `rest` API, which costs more and takes a firewall and keys with quotas. */
  apiKind: z.enum(["http", "rest"], "it takes http or rest").default("http"),
  /** Of a REST API: whether the role is made here by which API Gateway writes logs. An account has one in each region; what was there is replaced. False: it is there already, without which the deployment stops and says so. */
  apiMakesLogRole: yesOrNo().default(false),
  /** How many requests a second the API takes on average; it answers 429 to the others. */
  apiRequestsPerSecond: wholeNumber(1, 10_000).default(50),
  /** How many requests the API takes at one instant; each of them may open a database connection. */
  apiRequestBurst: wholeNumber(1, 5_000).default(25),
  /** How much a token without a rate of its own may ask. None given: as much as the API takes. */
  apiRatePerToken: z
    .string()
    .regex(/^[1-9]\d{0,8}\/[smh]$/, "it takes a rate such as 100/s, 100/m or 1000/h")
    .optional(),
  /** Whether changes of what has a version are refused without an If-Match, so that nobody overwrites what he has not seen. */
  apiRequireIfMatch: yesOrNo().default(false),
  /** Who says who calls: Carillon's own `token`s, signatures of `iam`, or a `jwt` of an issuer, which an HTTP API alone can check. */
  apiAuth: z.enum(["token", "iam", "jwt"], "it takes token, iam or jwt").default("token"),
  /** With iam: roles and users that may call, each with a scope and perhaps the prefix of its keys, as `arn:aws:iam::123456789012:role/billing write billing:`; the first that fits counts. */
  apiPrincipals: textList(
    z.string().superRefine((text, context) => {
      try {
        parseAllowedPrincipal(Token.isUnresolved(text) ? text.replace(/^\S+/, someRole) : text);
      } catch (error) {
        context.addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error) });
      }
    }),
    "name many at once by ending them with *",
  ),
  /** With jwt: the address of the issuer, as it stands in `iss`. */
  apiJwtIssuer: textOrToken(
    /^https:\/\/[\w.-]+(:\d+)?(\/[\w./~%-]*)?$/,
    "it takes an address such as https://login.example.com/",
  ).optional(),
  /** With jwt: the audiences of which a JWT must name one, in `aud` or `client_id`. */
  apiJwtAudience: textList(textOrToken(/^\S+$/, "it takes audiences, separated by commas"), "one is enough"),
  /** With jwt: the claim in which scopes stand. */
  apiJwtScopeClaim: claim().default("scope"),
  /** With jwt: what stands before `read`, `write` and `admin` where they are Carillon's scopes. */
  apiJwtScopePrefix: z
    .string()
    .regex(/^[^\s,[\]]{0,200}$/, "it takes what scopes begin with, without blanks and commas")
    .default("carillon/"),
  /** With jwt: the claim that says which keys somebody reaches, by what they begin with, or `*` for all. None given: all reach every key. */
  apiJwtPrefixClaim: claim().optional(),
  /** With that claim: what stands behind it in keys, such as `:`, without which `acme` reaches the keys of `acme2` as well. None given: nothing. */
  apiJwtPrefixEnd: z
    .string()
    .regex(/^[^\s,/?#%\\]{1,20}$/, "it takes what ends the first part of keys, such as `:`")
    .optional(),
  /** The origins whose pages may call the API from a browser. None given: none. */
  apiCorsOrigins: textList(z.string().refine(isOrigin, originForm), "name fewer"),
  /** A domain name of one's own, under which alone the API answers then. */
  apiDomainName: textOrToken(
    /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/,
    "it takes a name such as carillon.example.com",
  ).optional(),
  /** The certificate for that name, in AWS Certificate Manager of the same region. */
  apiCertificateArn: textOrToken(
    /^arn:[\w-]+:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/,
    "it takes the ARN of a certificate",
  ).optional(),
  /** The hosted zone in Route 53 that gets a record for that name. None given: the record is made elsewhere, to what the output ApiDomainTarget says. */
  apiHostedZoneId: textOrToken(/^Z[A-Z0-9]{1,31}$/, "it takes the id of a hosted zone").optional(),
  /** The name of that zone. */
  apiHostedZoneName: textOrToken(
    /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/,
    "it takes a name such as example.com",
  ).optional(),
  /** Of a REST API: a web ACL of AWS WAF that stands before it and is there already. */
  apiWebAclArn: textOrToken(
    /^arn:[\w-]+:wafv2:[\w-]+:\d{12}:regional\/webacl\/[\w-]+\/[\w-]+$/,
    "it takes the ARN of a regional web ACL",
  ).optional(),
  /** Of a REST API: whether a web ACL is made for it, with rules that AWS keeps and a limit for each address. It costs by the month and by request. */
  apiFirewall: yesOrNo().default(false),
  /** With that web ACL: how many requests one address may send in five minutes. */
  apiFirewallRequests: wholeNumber(10, 2_000_000_000).default(10_000),
  /** Of a REST API: for whom API keys are made, without which it takes no request then; they come on top of tokens. None given: there are none. */
  apiKeyNames: textList(
    z.string().regex(/^[\w .@-]{1,100}$/, "it takes names of letters, digits, blanks and . @ _ -"),
    "make more of them by hand",
  ),
  /** With API keys: how many requests a second each takes on average. None given: as many as the API. */
  apiKeyRequestsPerSecond: wholeNumber(1, 10_000).optional(),
  /** With API keys: how many requests a day each takes. None given: any number. */
  apiKeyRequestsPerDay: wholeNumber(1, 2_000_000_000).optional(),
};

export type ApiSettings = z.output<z.ZodObject<typeof apiSettings>>;

function claim() {
  return z.string().regex(/^[^\s,]{1,200}$/, "it takes the name of a claim");
}
