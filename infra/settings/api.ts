import { Token } from "aws-cdk-lib";
import { z } from "zod";
import { parseAllowedPrincipal } from "../../lib/config/allowed-principals.ts";
import { isOrigin, originForm } from "../../lib/config/cors-origins.ts";
import { logsLinkFault } from "../../lib/config/logs-link.ts";
import { pageNameForm, pageNamePattern } from "../../lib/config/page-name.ts";
import { namedTwice, parsePrefixRate } from "../../lib/config/prefix-rates.ts";
import { parsedText, textList, textOrToken, wholeNumber, yesOrNo } from "./shapes.ts";

/**
 * Stands in for a principal whose ARN is still a CDK token; the scope and prefix are known and can
 * be checked.
 */
const someRole = "arn:aws:iam::000000000000:role/some";

/** A CDK token within a text. */
const token = /\$\{Token\[[^\]]*\]\}/g;

/** The HTTP API. */
export const apiSettings = {
  /**
   * The kind of the API's gateway: an `http` API, or a `rest` API, which costs more and supports a
   * firewall and keys with quotas.
   */
  apiKind: z.enum(["http", "rest"], "it takes http or rest").default("http"),
  /**
   * For a REST API: whether the deployment makes the role by which API Gateway writes logs. An
   * account has one in each region, and the existing one is replaced. False: the role must exist
   * already; without it the deployment stops with an error.
   */
  apiMakesLogRole: yesOrNo().default(false),
  /** How many requests a second the API accepts on average; it answers 429 to the others. */
  apiRequestsPerSecond: wholeNumber(1, 10_000).default(50),
  /** How many requests the API accepts at one instant; each may open a database connection. */
  apiRequestBurst: wholeNumber(1, 5_000).default(25),
  /**
   * The rate of a token without one of its own, in units of work: a request costs one, a batch one
   * for each operation. Default: the API's own limit.
   */
  apiRatePerToken: z
    .string()
    .regex(/^[1-9]\d{0,8}\/[smh]$/, "it takes a rate such as 100/s, 100/m or 1000/h")
    .optional(),
  /**
   * The rate of all tokens of a prefix together, those included that they made: `1000/s` for every
   * prefix, `billing:=2000/s` for one. Tokens that reach every key have no such rate. Default: no
   * limit.
   */
  apiRatePerPrefix: textList(parsedText(parsePrefixRate), "the others have the rate without a prefix").refine(
    (list) => namedTwice(list) === null,
    "it takes one rate for each prefix, and one for all others",
  ),
  /**
   * How many requests of the tokens of one prefix may use the database at the same time; the others
   * get 429, so that requests of one team that wait for each other keep no other team out. Default:
   * half of the connections that the API may have, and a quarter of the database's behind a proxy.
   */
  apiRequestsPerPrefix: wholeNumber(1, 5_000).optional(),
  /**
   * Whether changes of versioned objects need an If-Match, so that a caller cannot overwrite a
   * version that it has not seen.
   */
  apiRequireIfMatch: yesOrNo().default(false),
  /**
   * Whether the stack has the function that keeps schedules of other stacks, and its output
   * `ScheduleServiceToken`. In an app with the construct `Schedule`, the function is there without it.
   */
  stackSchedules: yesOrNo().default(false),
  /**
   * Whether the page is served, at the root of the API's address. It is left out where it could not
   * sign in: with apiAuth iam, with jwt and no pageClientId, and with apiKeyNames.
   */
  page: yesOrNo().default(true),
  /**
   * With jwt: the id of the page's public client (without a secret) at the issuer. Default: the page
   * is left out.
   */
  pageClientId: textOrToken(/^[\x21-\x7e]{1,200}$/, "it takes the id of a client at the issuer").optional(),
  /**
   * With a client of the page: the scopes that its sign-in requests. Default: `openid` and Carillon's
   * `read`. Issuers that give every allowed scope on request would give more than that to everyone.
   */
  pageScopes: textList(
    z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/, "it takes scopes, separated by commas"),
    "name fewer",
  ),
  /**
   * With a client of the page: further parameters of its sign-in that the issuer needs, such as
   * `audience=https://carillon.example.com`. Default: none.
   */
  pageSignInParameters: textList(
    z.string().regex(/^[\w.-]{1,100}=[\x21-\x7e]{1,500}$/, "it takes parameters such as audience=carillon"),
    "name fewer",
  ),
  /**
   * With a client of the page: origins of the issuer beside that of its own address, such as that of
   * its token endpoint. Default: none.
   */
  pageConnectOrigins: textList(z.string().refine(isOrigin, originForm), "name fewer"),
  /**
   * The name of this installation on the page, in its bar and in the titles of its tabs, such as
   * `Billing, production`, or `none` for no name. Default: the name of the stack. Anyone who can load
   * the page can read it.
   */
  pageName: textOrToken(pageNamePattern, pageNameForm).optional(),
  /**
   * Where the page's links to the log of a job lead: an address with placeholders, such as
   * `{jobId}`, or `none` for no links. Default: a query of the functions' logs in CloudWatch, in the
   * partition `aws`. [The page in AWS](api-in-aws.md#links-to-logs) lists the placeholders.
   */
  pageLogsLink: z
    .string()
    .superRefine((text, context) => {
      const fault = text === "none" ? null : logsLinkFault(text.replace(token, "token"));
      if (fault !== null) context.addIssue({ code: "custom", message: fault });
    })
    .optional(),
  /**
   * How callers authenticate: by Carillon's own `token`s, by `iam` signatures, or by a `jwt` of an
   * issuer, which only an HTTP API can check.
   */
  apiAuth: z.enum(["token", "iam", "jwt"], "it takes token, iam or jwt").default("token"),
  /**
   * With iam: the roles and users that may call, each with a scope and optionally the prefix of its
   * keys, such as `arn:aws:iam::123456789012:role/billing write billing:`; the first match counts.
   */
  apiPrincipals: textList(
    parsedText((text) =>
      parseAllowedPrincipal(Token.isUnresolved(text) ? text.replace(/^\S+/, someRole) : text),
    ),
    "name many at once by ending them with *",
  ),
  /** With jwt: the address of the issuer, exactly as in `iss`. */
  apiJwtIssuer: textOrToken(
    /^https:\/\/[\w.-]+(:\d+)?(\/[\w./~%-]*)?$/,
    "it takes an address such as https://login.example.com/",
  ).optional(),
  /** With jwt: the accepted audiences; a JWT must name one of them in `aud` or `client_id`. */
  apiJwtAudience: textList(textOrToken(/^\S+$/, "it takes audiences, separated by commas"), "one is enough"),
  /** With jwt: the claim that holds the scopes. */
  apiJwtScopeClaim: claim().default("scope"),
  /** With jwt: the text before `read`, `write` and `admin` in Carillon's scopes. */
  apiJwtScopePrefix: z
    .string()
    .regex(/^[^\s,[\]]{0,200}$/, "it takes a prefix of scopes, without blanks and commas")
    .default("carillon/"),
  /**
   * With jwt: the claim that holds the prefix of the caller's keys, or `*` for all keys. Default:
   * every caller reaches every key.
   */
  apiJwtPrefixClaim: claim().optional(),
  /**
   * With that claim: the separator after the prefix in keys, such as `:`. Without one, `acme` also
   * reaches the keys of `acme2`. Default: none.
   */
  apiJwtPrefixEnd: z
    .string()
    .regex(/^[^\s,/?#%\\]{1,20}$/, "it takes a separator after the prefix of keys, such as `:`")
    .optional(),
  /** The origins of pages that may call the API from a browser. Default: none. */
  apiCorsOrigins: textList(z.string().refine(isOrigin, originForm), "name fewer"),
  /** A custom domain name. The API then answers only under this name. */
  apiDomainName: textOrToken(
    /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/,
    "it takes a name such as carillon.example.com",
  ).optional(),
  /** The certificate for that name, in AWS Certificate Manager in the same region. */
  apiCertificateArn: textOrToken(
    /^arn:[\w-]+:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/,
    "it takes the ARN of a certificate",
  ).optional(),
  /**
   * The hosted zone in Route 53 that gets a record for that name. Default: the record is made
   * elsewhere, and must point to the output ApiDomainTarget.
   */
  apiHostedZoneId: textOrToken(/^Z[A-Z0-9]{1,31}$/, "it takes the id of a hosted zone").optional(),
  /** The name of that zone. */
  apiHostedZoneName: textOrToken(
    /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/,
    "it takes a name such as example.com",
  ).optional(),
  /** For a REST API: an existing web ACL of AWS WAF for it. */
  apiWebAclArn: textOrToken(
    /^arn:[\w-]+:wafv2:[\w-]+:\d{12}:regional\/webacl\/[\w-]+\/[\w-]+$/,
    "it takes the ARN of a regional web ACL",
  ).optional(),
  /**
   * For a REST API: whether a web ACL is made for it, with AWS's managed rules and a limit for each
   * address. It costs by the month and by request.
   */
  apiFirewall: yesOrNo().default(false),
  /** With that web ACL: how many requests an address may send in five minutes. */
  apiFirewallRequests: wholeNumber(10, 2_000_000_000).default(10_000),
  /**
   * For a REST API: the names of the API keys to make. Requests then need an API key in addition to
   * a token. Default: none.
   */
  apiKeyNames: textList(
    z.string().regex(/^[\w .@-]{1,100}$/, "it takes names of letters, digits, blanks and . @ _ -"),
    "make more of them by hand",
  ),
  /**
   * With API keys: how many requests a second each key may send on average. Default: the API's own
   * limit.
   */
  apiKeyRequestsPerSecond: wholeNumber(1, 10_000).optional(),
  /** With API keys: how many requests a day each key may send. Default: no limit. */
  apiKeyRequestsPerDay: wholeNumber(1, 2_000_000_000).optional(),
};

export type ApiSettings = z.output<z.ZodObject<typeof apiSettings>>;

function claim() {
  return z.string().regex(/^[^\s,]{1,200}$/, "it takes the name of a claim");
}
