import { Match } from "aws-cdk-lib/assertions";
import { beforeAll, describe, expect, test } from "vitest";
import { checkApi } from "../../infra/api/api-checks.ts";
import { settingsShape } from "../../infra/settings.ts";
import { parseRate } from "../../lib/job/rate.ts";
import { idIn, type Synthesised, synthesised } from "./synthesised.ts";
import { variants } from "./variants.ts";

/** The authorizer of each route, by method and path or `$default`. */
function routesOf(stack: Synthesised): Record<string, unknown> {
  const routes = stack.ofType("AWS::ApiGatewayV2::Route").map(([, { Properties }]) => Properties);
  return Object.fromEntries(
    routes.map(({ RouteKey, AuthorizationType = "NONE" }) => [RouteKey, AuthorizationType]),
  );
}

function methodsOf(stack: Synthesised): Record<string, unknown> {
  const methods = stack.ofType("AWS::ApiGateway::Method").map(([, { Properties }]) => {
    const { HttpMethod, ResourceId, AuthorizationType, ApiKeyRequired = false } = Properties;
    const parent = stack.resources[idIn(ResourceId)]?.Properties["PathPart"] ?? "";
    return [`${HttpMethod} /${parent}`, [AuthorizationType, ApiKeyRequired]];
  });
  return Object.fromEntries(methods);
}

function environmentOf(stack: Synthesised): Record<string, unknown> {
  const [found] = stack.ofType("AWS::Lambda::Function").filter(([id]) => id.startsWith("ApiFunction"));
  return Object(Object(found?.[1].Properties["Environment"]).Variables);
}

function callersOf(stack: Synthesised): unknown[] {
  return stack
    .ofType("AWS::Lambda::Permission")
    .filter(([, { Properties }]) => idIn(Properties["FunctionName"]).startsWith("ApiFunction"))
    .map(([, { Properties }]) => [Properties["Principal"], JSON.stringify(Properties["SourceArn"])]);
}

describe("an HTTP API for signed requests", () => {
  let stack: Synthesised;
  beforeAll(() => {
    stack = synthesised(variants["HTTP API for signed requests"]);
  });

  test("an HTTP API for signed requests passes on no unsigned request, except the health probe", () => {
    expect(routesOf(stack)).toEqual({ "ANY /{proxy+}": "AWS_IAM", "GET /health": "NONE" });
  });

  test("an HTTP API for signed requests gives the function its principals, and no other service may invoke it", () => {
    expect(environmentOf(stack)).toMatchObject({
      API_AUTH: "iam",
      API_PRINCIPALS:
        "arn:aws:iam::123456789012:role/deployer admin\narn:aws:iam::123456789012:role/billing-* write billing:",
    });
    const [[api] = []] = stack.ofType("AWS::ApiGatewayV2::Api");
    expect(callersOf(stack)).toEqual([
      ["apigateway.amazonaws.com", expect.stringContaining(`{"Ref":"${api}"}`)],
    ]);
  });
});

describe("an HTTP API for JWTs, under a name of its own", () => {
  let stack: Synthesised;
  beforeAll(() => {
    stack = synthesised(variants["HTTP API for JWTs, under a name of its own"]);
  });

  test("an HTTP API for JWTs passes on no request without a JWT of the issuer, except the health probe and preflight requests", () => {
    expect(routesOf(stack)).toEqual({
      "ANY /{proxy+}": "JWT",
      "GET /health": "NONE",
      "OPTIONS /{proxy+}": "NONE",
    });
    stack.template.hasResourceProperties("AWS::ApiGatewayV2::Authorizer", {
      AuthorizerType: "JWT",
      IdentitySource: ["$request.header.Authorization"],
      JwtConfiguration: { Issuer: "https://login.example.com/", Audience: ["carillon"] },
    });
    expect(environmentOf(stack)).toMatchObject({
      API_AUTH: "jwt",
      API_JWT_SCOPE_CLAIM: "permissions",
      API_JWT_SCOPE_PREFIX: "scheduler:",
      API_JWT_PREFIX_CLAIM: "https://example.com/tenant",
      API_JWT_PREFIX_END: ":",
      API_CORS_ORIGINS: "https://app.example.com,http://localhost:5173",
    });
  });

  test("an HTTP API with a domain name answers only under that name, with TLS 1.2 or newer", () => {
    stack.template.hasResourceProperties("AWS::ApiGatewayV2::Api", { DisableExecuteApiEndpoint: true });
    stack.template.hasResourceProperties("AWS::ApiGatewayV2::DomainName", {
      DomainName: "carillon.example.com",
      DomainNameConfigurations: [Match.objectLike({ EndpointType: "REGIONAL", SecurityPolicy: "TLS_1_2" })],
    });
    stack.template.hasResourceProperties("AWS::ApiGatewayV2::ApiMapping", { Stage: "$default" });
    stack.template.hasResourceProperties("AWS::Route53::RecordSet", {
      Name: "carillon.example.com.",
      HostedZoneId: "Z0123456789ABCDEFGHIJ",
      Type: "A",
    });
    stack.template.hasOutput("ApiUrl", { Value: "https://carillon.example.com" });
  });

  test("an HTTP API for JWTs leaves CORS headers to the function", () => {
    stack.template.hasResourceProperties("AWS::ApiGatewayV2::Api", { CorsConfiguration: Match.absent() });
  });
});

/**
 * AWS's rules that check whole bodies, or that block keys and targets in paths and queries. A
 * misspelt name would still block.
 */
const overCallersData = [
  ...["JavaDeserializationRCE_BODY", "Log4JRCE_BODY", "ReactJSRCE_BODY"],
  ...["SizeRestrictions_BODY", "EC2MetaDataSSRF_BODY", "CrossSiteScripting_BODY"],
  ...["GenericLFI_BODY", "GenericRFI_BODY", "GenericRFI_URIPATH", "GenericRFI_QUERYARGUMENTS"],
  ...["SizeRestrictions_URIPATH", "SizeRestrictions_QUERYSTRING"],
  ...["RestrictedExtensions_URIPATH", "RestrictedExtensions_QUERYARGUMENTS"],
];

describe("a REST API that is guarded", () => {
  let stack: Synthesised;
  beforeAll(() => {
    stack = synthesised(variants["REST API that is guarded"]);
  });

  test("a guarded REST API passes on no request without a signature and a key, except the health probe and preflight requests", () => {
    expect(methodsOf(stack)).toEqual({
      "ANY /": ["AWS_IAM", true],
      "ANY /{proxy+}": ["AWS_IAM", true],
      "GET /health": ["NONE", false],
      "OPTIONS /": ["NONE", false],
      "OPTIONS /{proxy+}": ["NONE", false],
    });
  });

  test("a REST API gives each key its own limits, and no key has its value in the template", () => {
    stack.template.hasResourceProperties("AWS::ApiGateway::UsagePlan", {
      Throttle: { RateLimit: 10, BurstLimit: 25 },
      Quota: { Limit: 100_000, Period: "DAY" },
    });
    const keys = stack.ofType("AWS::ApiGateway::ApiKey").map(([, { Properties }]) => Properties);
    expect(keys.map(({ Description, Value }) => [Description, Value])).toEqual([
      ["billing", undefined],
      ["reports", undefined],
    ]);
    stack.template.resourceCountIs("AWS::ApiGateway::UsagePlanKey", 2);
  });

  test("a REST API's firewall limits each address, and blocks no request for the content of bodies, keys or targets", () => {
    const [acl] = stack.ofType("AWS::WAFv2::WebACL");
    const rules: Record<string, unknown>[] = Object(acl?.[1].Properties["Rules"]);
    expect(rules[0]).toMatchObject({
      Action: { Block: {} },
      Statement: { RateBasedStatement: { AggregateKeyType: "IP", Limit: 2_000 } },
    });
    const overridesOf = (group: string): { Name: string; ActionToUse: unknown }[] =>
      Object(rules.find(({ Name }) => Name === group)?.["Statement"]).ManagedRuleGroupStatement
        .RuleActionOverrides;
    const counted = [
      ...overridesOf("AWSManagedRulesKnownBadInputsRuleSet"),
      ...overridesOf("AWSManagedRulesCommonRuleSet"),
    ];
    expect(new Set(counted.map(({ Name }) => Name))).toEqual(new Set(overCallersData));
    for (const { ActionToUse } of counted) expect(ActionToUse).toEqual({ Count: {} });
    stack.template.hasResourceProperties("AWS::WAFv2::WebACLAssociation", {
      ResourceArn: { "Fn::Join": ["", Match.arrayWith([Match.stringLikeRegexp("/restapis/")])] },
      WebACLArn: { "Fn::GetAtt": [acl?.[0], "Arn"] },
    });
  });

  test("a REST API with a domain name answers only under that name, and outputs the target of its DNS record", () => {
    stack.template.hasResourceProperties("AWS::ApiGateway::RestApi", { DisableExecuteApiEndpoint: true });
    const [[api] = []] = stack.ofType("AWS::ApiGateway::RestApi");
    stack.template.hasResourceProperties("AWS::ApiGatewayV2::ApiMapping", { ApiId: { Ref: api } });
    stack.template.resourceCountIs("AWS::Route53::RecordSet", 0);
    stack.template.hasOutput("ApiUrl", { Value: "https://carillon.example.com" });
    stack.template.hasOutput("ApiDomainTarget", {
      Value: { "Fn::GetAtt": [Match.anyValue(), "RegionalDomainName"] },
    });
  });
});

test("an existing web ACL is attached to the API unchanged", () => {
  const settings = variants["REST API behind an existing firewall"];
  const stack = synthesised(settings);
  stack.template.resourceCountIs("AWS::WAFv2::WebACL", 0);
  stack.template.hasResourceProperties("AWS::WAFv2::WebACLAssociation", {
    WebACLArn: settings?.["apiWebAclArn"],
  });
  expect(environmentOf(stack)).toMatchObject({
    API_RATE: "100/s",
    API_RATE_PER_PREFIX: "1000/s\nbilling:=2000/s",
    API_REQUESTS_PER_PREFIX: "8",
    REQUIRE_IF_MATCH: "true",
    API_AUTH: "token",
  });
});

const jwt = { apiAuth: "jwt", apiJwtIssuer: "https://login.example.com", apiJwtAudience: "carillon" };
const principal = "arn:aws:iam::123456789012:role/deployer admin";
const certificate = "arn:aws:acm:eu-central-1:123456789012:certificate/a";

const listOf = (nameOf: (number: number) => string, count: number) =>
  Array.from({ length: count }, (_, number) => nameOf(100 + number));
const longestList = listOf((n) => `arn:aws:events:eu-central-1:123456789012:event-bus/customer-${n}`, 14);
const longestQueues = listOf((n) => `arn:aws:sqs:eu-central-1:123456789012:orders-of-customer-${n}`, 14);
const longestOrigins = listOf((n) => `https://app-of-customer-${n}.example.com`, 22);

test.each([
  [{ apiFirewall: true }, "apiFirewall: an HTTP API does not support it; set apiKind to rest"],
  [{ apiKeyNames: "billing" }, "apiKeyNames: an HTTP API does not support it"],
  [{ apiMakesLogRole: true }, "apiMakesLogRole: an HTTP API does not support it"],
  [{ apiKind: "rest", apiKeyRequestsPerDay: 10 }, "give the keys' names"],
  [{ apiAuth: "iam" }, "apiAuth iam admits only named principals"],
  [{ apiPrincipals: principal }, "they need apiAuth iam"],
  [{ ...jwt, apiJwtAudience: "" }, "apiAuth jwt needs both"],
  [{ ...jwt, apiJwtPrefixEnd: ":" }, "name the claim in apiJwtPrefixClaim"],
  [{ ...jwt, apiKind: "rest" }, "a REST API cannot check JWTs"],
  [{ ...jwt, apiAuth: "token" }, "they need apiAuth jwt"],
  [{ pageClientId: "page" }, "pageClientId: the page signs in with an issuer only with apiAuth jwt"],
  [{ ...jwt, pageClientId: "page", page: false }, "pageClientId: the page is off"],
  [{ ...jwt, pageScopes: "openid" }, "pageScopes: it needs a client of the page; give pageClientId"],
  [{ pageSignInParameters: "a=b" }, "pageSignInParameters: it needs a client of the page"],
  [{ pageConnectOrigins: "https://a.example.com" }, "pageConnectOrigins: it needs a client of the page"],
  [{ ...jwt, pageClientId: "page", pageScopes: "carillon/read" }, "pageScopes: without openid"],
  [
    { ...jwt, pageClientId: "page", pageSignInParameters: "audience=a,state=b,nonce=c" },
    "pageSignInParameters: the page sets state, nonce itself; leave them out",
  ],
  [{ apiDomainName: "carillon.example.com" }, "apiDomainName, apiCertificateArn: each needs the other"],
  [
    { apiDomainName: "a.example.com", apiCertificateArn: certificate, apiHostedZoneId: "Z1A" },
    "apiHostedZoneId, apiHostedZoneName: each needs the other",
  ],
  [
    {
      apiDomainName: "a.example.org",
      apiCertificateArn: certificate,
      apiHostedZoneId: "Z1A",
      apiHostedZoneName: "example.com",
    },
    "a.example.org is not in example.com",
  ],
  [
    { targetBusArns: longestList, targetQueueArns: longestQueues, apiCorsOrigins: longestOrigins },
    "room for 2400; shorten them",
  ],
])("conflicting settings of the API are refused with the reason (%#)", (settings, sentence) => {
  const given = Object.entries(settings).filter(([, value]) => value !== "");
  expect(() => checkApi(settingsShape.parse(Object.fromEntries(given)))).toThrow(sentence);
});

test.each([
  [
    "apiPrincipals",
    "arn:aws:iam::123456789012:role/service/deployer admin",
    "without a path before its name",
  ],
  ["apiPrincipals", "arn:aws:iam::123456789012:role/deployer", "it takes principals with a scope"],
  ["apiPrincipals", "* admin", "without a path before its name"],
  ["apiPrincipals", "arn:aws:iam::*:role/deployer admin", "without a path before its name"],
  ["apiCorsOrigins", "*", "it takes origins such as"],
  ["pageClientId", "two words", "it takes the id of a client"],
  ["pageScopes", 'openid,"read"', "it takes scopes, separated by commas"],
  ["pageSignInParameters", "audience", "it takes parameters such as audience=carillon"],
  ["pageConnectOrigins", "https://login.example.com/path", "it takes origins such as"],
  [
    "pageLogsLink",
    "https://logs.example.com/?q={job}",
    "it has no placeholder {job}; it takes {jobId}, {key}",
  ],
  ["pageLogsLink", "javascript:alert({jobId})", "it takes an https address such as"],
  ["apiRatePerToken", "100", "it takes a rate such as"],
  ["apiRequestsPerPrefix", "0", "it takes a whole number from 1 to 5000"],
  ["apiRatePerPrefix", "billing:=2000", "not billing:=2000"],
  ["apiRatePerPrefix", "=2000/s", "not =2000/s"],
  ["apiRatePerPrefix", "a/b=2000/s", "not a/b=2000/s"],
  ["apiRatePerPrefix", "1000/s,2000/s", "it takes one rate for each prefix"],
  ["apiRatePerPrefix", "a:=1/s,a:=2/s", "it takes one rate for each prefix"],
  ["prefixWeights", "3", "not 3"],
  ["prefixWeights", "billing:=0", "not billing:=0"],
  ["prefixWeights", "billing:=101", "not billing:=101"],
  ["prefixWeights", "a/b=2", "not a/b=2"],
  ["prefixWeights", "a:=1,a:=2", "it takes one weight for a prefix"],
  ["quotas", "billing:=2000", "not billing:=2000"],
  ["quotas", "a/b=schedules=1", "not a/b=schedules=1"],
  ["quotas", "schedules=-1", "not schedules=-1"],
  ["quotas", "a:=calendars=1", "calendars have no prefix"],
  ["quotas", "a:=holds=1,a:=holds=2", "it takes one limit of each kind for a prefix"],
  ["apiJwtIssuer", "http://login.example.com", "it takes an address such as https://login.example.com/"],
])("the setting %s refuses %j", (name, value, sentence) => {
  expect(() => settingsShape.parse({ [name]: value })).toThrow(sentence);
});

test("the setting of a rate accepts exactly the rates that the function can read", () => {
  for (const rate of ["1/s", "100/m", "999999999/h", "0/s", "1/d", "1.5/s", "1/s ", "1000000000/h", "/s"]) {
    const isTaken = settingsShape.safeParse({ apiRatePerToken: rate }).success;
    expect([rate, isTaken]).toEqual([rate, parseRate(rate) !== null]);
  }
});
