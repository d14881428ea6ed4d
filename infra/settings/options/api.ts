// Written by `npm run settings` from infra/settings/api.ts; a test compares the two.

/** The HTTP API. */
export interface ApiOptions {
  /**
   * The kind of the API's gateway: an `http` API, or a `rest` API, which costs more and supports a
   * firewall and keys with quotas.
   *
   * @default http
   */
  readonly apiKind?: "http" | "rest" | undefined;
  /**
   * For a REST API: whether the deployment makes the role by which API Gateway writes logs. An
   * account has one in each region, and the existing one is replaced. False: the role must exist
   * already; without it the deployment stops with an error.
   *
   * @default false
   */
  readonly apiMakesLogRole?: boolean | undefined;
  /**
   * How many requests a second the API accepts on average; it answers 429 to the others.
   *
   * @default 50
   */
  readonly apiRequestsPerSecond?: number | undefined;
  /**
   * How many requests the API accepts at one instant; each may open a database connection.
   *
   * @default 25
   */
  readonly apiRequestBurst?: number | undefined;
  /**
   * The rate of a token without one of its own, in units of work: a request costs one, a batch one
   * for each operation. Default: the API's own limit.
   */
  readonly apiRatePerToken?: string | undefined;
  /**
   * The rate of all tokens of a prefix together, those included that they made: `1000/s` for every
   * prefix, `billing:=2000/s` for one. Tokens that reach every key have no such rate. Default: no
   * limit.
   */
  readonly apiRatePerPrefix?: readonly string[] | undefined;
  /**
   * How many requests of the tokens of one prefix may use the database at the same time; the others
   * get 429, so that requests of one team that wait for each other keep no other team out. Default:
   * half of the connections that the API may have, and a quarter of the database's behind a proxy.
   */
  readonly apiRequestsPerPrefix?: number | undefined;
  /**
   * Whether changes of versioned objects need an If-Match, so that a caller cannot overwrite a
   * version that it has not seen.
   *
   * @default false
   */
  readonly apiRequireIfMatch?: boolean | undefined;
  /**
   * Whether the stack has the function that keeps schedules of other stacks, and its output
   * `ScheduleServiceToken`. In an app with the construct `Schedule`, the function is there without
   * it.
   *
   * @default false
   */
  readonly stackSchedules?: boolean | undefined;
  /**
   * Whether the page is served, at the root of the API's address. It is left out where it could not
   * sign in: with apiAuth iam, with jwt and no pageClientId, and with apiKeyNames.
   *
   * @default true
   */
  readonly page?: boolean | undefined;
  /**
   * With jwt: the id of the page's public client (without a secret) at the issuer. Default: the page
   * is left out.
   */
  readonly pageClientId?: string | undefined;
  /**
   * With a client of the page: the scopes that its sign-in requests. Default: `openid` and
   * Carillon's `read`. Issuers that give every allowed scope on request would give more than that to
   * everyone.
   */
  readonly pageScopes?: readonly string[] | undefined;
  /**
   * With a client of the page: further parameters of its sign-in that the issuer needs, such as
   * `audience=https://carillon.example.com`. Default: none.
   */
  readonly pageSignInParameters?: readonly string[] | undefined;
  /**
   * With a client of the page: origins of the issuer beside that of its own address, such as that of
   * its token endpoint. Default: none.
   */
  readonly pageConnectOrigins?: readonly string[] | undefined;
  /**
   * The name of this installation on the page, in its bar and in the titles of its tabs, such as
   * `Billing, production`, or `none` for no name. Default: the name of the stack. Anyone who can
   * load the page can read it.
   */
  readonly pageName?: string | undefined;
  /**
   * Where the page's links to the log of a job lead: an address with placeholders, such as
   * `{jobId}`, or `none` for no links. Default: a query of the functions' logs in CloudWatch, in the
   * partition `aws`. [The page in AWS](api-in-aws.md#links-to-logs) lists the placeholders.
   */
  readonly pageLogsLink?: string | undefined;
  /**
   * How callers authenticate: by Carillon's own `token`s, by `iam` signatures, or by a `jwt` of an
   * issuer, which only an HTTP API can check.
   *
   * @default token
   */
  readonly apiAuth?: "token" | "iam" | "jwt" | undefined;
  /**
   * With iam: the roles and users that may call, each with a scope and optionally the prefix of its
   * keys, such as `arn:aws:iam::123456789012:role/billing write billing:`; the first match counts.
   */
  readonly apiPrincipals?: readonly string[] | undefined;
  /** With jwt: the address of the issuer, exactly as in `iss`. */
  readonly apiJwtIssuer?: string | undefined;
  /** With jwt: the accepted audiences; a JWT must name one of them in `aud` or `client_id`. */
  readonly apiJwtAudience?: readonly string[] | undefined;
  /**
   * With jwt: the claim that holds the scopes.
   *
   * @default scope
   */
  readonly apiJwtScopeClaim?: string | undefined;
  /**
   * With jwt: the text before `read`, `write` and `admin` in Carillon's scopes.
   *
   * @default carillon/
   */
  readonly apiJwtScopePrefix?: string | undefined;
  /**
   * With jwt: the claim that holds the prefix of the caller's keys, or `*` for all keys. Default:
   * every caller reaches every key.
   */
  readonly apiJwtPrefixClaim?: string | undefined;
  /**
   * With that claim: the separator after the prefix in keys, such as `:`. Without one, `acme` also
   * reaches the keys of `acme2`. Default: none.
   */
  readonly apiJwtPrefixEnd?: string | undefined;
  /** The origins of pages that may call the API from a browser. Default: none. */
  readonly apiCorsOrigins?: readonly string[] | undefined;
  /** A custom domain name. The API then answers only under this name. */
  readonly apiDomainName?: string | undefined;
  /** The certificate for that name, in AWS Certificate Manager in the same region. */
  readonly apiCertificateArn?: string | undefined;
  /**
   * The hosted zone in Route 53 that gets a record for that name. Default: the record is made
   * elsewhere, and must point to the output ApiDomainTarget.
   */
  readonly apiHostedZoneId?: string | undefined;
  /** The name of that zone. */
  readonly apiHostedZoneName?: string | undefined;
  /** For a REST API: an existing web ACL of AWS WAF for it. */
  readonly apiWebAclArn?: string | undefined;
  /**
   * For a REST API: whether a web ACL is made for it, with AWS's managed rules and a limit for each
   * address. It costs by the month and by request.
   *
   * @default false
   */
  readonly apiFirewall?: boolean | undefined;
  /**
   * With that web ACL: how many requests an address may send in five minutes.
   *
   * @default 10000
   */
  readonly apiFirewallRequests?: number | undefined;
  /**
   * For a REST API: the names of the API keys to make. Requests then need an API key in addition to
   * a token. Default: none.
   */
  readonly apiKeyNames?: readonly string[] | undefined;
  /**
   * With API keys: how many requests a second each key may send on average. Default: the API's own
   * limit.
   */
  readonly apiKeyRequestsPerSecond?: number | undefined;
  /** With API keys: how many requests a day each key may send. Default: no limit. */
  readonly apiKeyRequestsPerDay?: number | undefined;
}
