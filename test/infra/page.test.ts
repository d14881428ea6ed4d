import { describe, expect, test } from "vitest";
import { z } from "zod";
import { idIn, type Synthesised, synthesised } from "./synthesised.ts";

const jwt = { apiAuth: "jwt", apiJwtIssuer: "https://login.example.com", apiJwtAudience: "carillon" };
const signIn = { ...jwt, pageClientId: "page-client" };
const certificate = "arn:aws:acm:eu-central-1:123456789012:certificate/a";
const iam = { apiAuth: "iam", apiPrincipals: "arn:aws:iam::123456789012:role/deployer admin" };

/** The construct of the function that a target or an integration's address names. */
function functionIn(value: unknown): string | undefined {
  return /"Fn::GetAtt":\["(\w+?)Function/.exec(JSON.stringify(value))?.[1];
}

/** The function behind each route of an HTTP API. */
function routesOf(stack: Synthesised): Record<string, unknown> {
  const routes = stack.ofType("AWS::ApiGatewayV2::Route").map(([, { Properties }]) => {
    const [, [, integration]] = z
      .tuple([z.string(), z.tuple([z.string(), z.unknown()])])
      .parse(Object(Properties["Target"])["Fn::Join"]);
    const uri = stack.resources[idIn(integration)]?.Properties["IntegrationUri"];
    return [String(Properties["RouteKey"]), functionIn(uri)];
  });
  return Object.fromEntries(routes);
}

/** The function behind each method of a REST API. */
function methodsOf(stack: Synthesised): Record<string, unknown> {
  const pathOf = (id: string): string => {
    const resource = stack.resources[id]?.Properties;
    if (resource?.["PathPart"] === undefined) return "";
    return `${pathOf(idIn(resource["ParentId"]))}/${resource["PathPart"]}`;
  };
  const methods = stack.ofType("AWS::ApiGateway::Method").map(([, { Properties }]) => {
    const path = pathOf(idIn(Properties["ResourceId"])) || "/";
    return [`${Properties["HttpMethod"]} ${path}`, functionIn(Object(Properties["Integration"]).Uri)];
  });
  return Object.fromEntries(methods);
}

function pagesOf(stack: Synthesised): string[] {
  const ids = stack.ofType("AWS::Lambda::Function").map(([id]) => id);
  return [
    ...ids.filter((id) => id.startsWith("Page")).map(() => "function"),
    ...Object.keys(stack.template.findOutputs("PageUrl")),
  ];
}

function variableOf(stack: Synthesised, variable: string): unknown {
  const [page] = stack.ofType("AWS::Lambda::Function").filter(([id]) => id.startsWith("Page"));
  return Object(page?.[1].Properties["Environment"]).Variables[variable];
}

describe("the page behind an HTTP API", () => {
  const stack = synthesised();

  test("an HTTP API sends the API's paths to the API and all others to the page, and none needs an authorizer", () => {
    expect(routesOf(stack)).toEqual({
      $default: "Api",
      "ANY /v1": "Api",
      "ANY /v1/{proxy+}": "Api",
      "ANY /health": "Api",
      "ANY /": "Page",
      "ANY /{proxy+}": "Page",
    });
    const authorized = stack.ofType("AWS::ApiGatewayV2::Route").map(([, { Properties }]) => Properties);
    for (const { AuthorizationType } of authorized) expect(AuthorizationType ?? "NONE").toBe("NONE");
  });

  test("during a deployment the page's routes are made after the API's own, and deleted before them", () => {
    const routes = stack.ofType("AWS::ApiGatewayV2::Route");
    const idsOf = (keys: string[]) =>
      routes.filter(([, { Properties }]) => keys.includes(String(Properties["RouteKey"]))).map(([id]) => id);
    const ofApi = idsOf(["ANY /v1", "ANY /v1/{proxy+}", "ANY /health"]);
    expect(ofApi).toHaveLength(3);
    for (const id of idsOf(["ANY /", "ANY /{proxy+}"]))
      expect(stack.resources[id]?.DependsOn).toEqual(expect.arrayContaining(ofApi));
  });

  test("the page keeps the logical ids of all that a stack without it has", () => {
    const without = synthesised({ page: false });
    const kept = (one: Synthesised) => Object.entries(one.resources).map(([id, { Type }]) => `${Type} ${id}`);
    expect(kept(stack)).toEqual(expect.arrayContaining(kept(without)));
  });
});

describe("the page behind an HTTP API for JWTs", () => {
  const stack = synthesised(signIn);

  /** The authorizer of each route. */
  const authorizersOf = (one: Synthesised) =>
    Object.fromEntries(
      one
        .ofType("AWS::ApiGatewayV2::Route")
        .map(([, { Properties }]) => [
          Properties["RouteKey"],
          [Properties["AuthorizationType"] ?? "NONE", "AuthorizerId" in Properties],
        ]),
    );

  test("an HTTP API for JWTs sends the API's paths to the API with a JWT only, and all others to the page without one", () => {
    expect(routesOf(stack)).toEqual({
      "ANY /v1": "Api",
      "ANY /v1/{proxy+}": "Api",
      "GET /health": "Api",
      "ANY /health": "Api",
      "ANY /": "Page",
      "ANY /{proxy+}": "Page",
    });
    const [jwtOnly, open] = [
      ["JWT", true],
      ["NONE", false],
    ];
    expect(authorizersOf(stack)).toEqual({
      "ANY /v1": jwtOnly,
      "ANY /v1/{proxy+}": jwtOnly,
      "GET /health": open,
      "ANY /health": open,
      "ANY /": open,
      "ANY /{proxy+}": open,
    });
  });

  test("preflight requests of the API's paths need no JWT, and reach the API, where there is a page", () => {
    const crossOrigin = synthesised({ ...signIn, apiCorsOrigins: "https://app.example.com" });
    for (const route of ["OPTIONS /{proxy+}", "OPTIONS /v1/{proxy+}"]) {
      expect(routesOf(crossOrigin)[route]).toBe("Api");
      expect(authorizersOf(crossOrigin)[route]).toEqual(["NONE", false]);
    }
  });

  test("the page opens no path of the API during a deployment: its routes are made after those with a JWT", () => {
    const routes = stack.ofType("AWS::ApiGatewayV2::Route");
    const idsOf = (keys: string[]) =>
      routes.filter(([, { Properties }]) => keys.includes(String(Properties["RouteKey"]))).map(([id]) => id);
    const ofApi = idsOf(["ANY /v1", "ANY /v1/{proxy+}", "ANY /health"]);
    expect(ofApi).toHaveLength(3);
    for (const id of idsOf(["ANY /", "ANY /{proxy+}"]))
      expect(stack.resources[id]?.DependsOn).toEqual(expect.arrayContaining(ofApi));
  });

  test("the page keeps the logical ids of all that a stack for JWTs without it has", () => {
    const settings = { apiCorsOrigins: "https://app.example.com" };
    const without = synthesised({ ...jwt, ...settings });
    const kept = (one: Synthesised) => Object.entries(one.resources).map(([id, { Type }]) => `${Type} ${id}`);
    const page = synthesised({ ...signIn, ...settings });
    expect(kept(page)).toEqual(expect.arrayContaining(kept(without)));
    for (const [id, { Type, Properties }] of Object.entries(without.resources))
      if (Type === "AWS::ApiGatewayV2::Route")
        expect(page.resources[id]?.Properties["RouteKey"]).toBe(Properties["RouteKey"]);
  });

  test.each([
    [
      "by default it requests the least scope",
      {},
      {
        PAGE_ISSUER: "https://login.example.com",
        PAGE_CLIENT_ID: "page-client",
        PAGE_SCOPES: "openid carillon/read",
      },
    ],
    [
      "all of its settings",
      {
        pageScopes: "openid,offline_access,carillon/write",
        pageSignInParameters: "audience=https://carillon.example.com,prompt=login",
        pageConnectOrigins: "https://tokens.example.com",
      },
      {
        PAGE_SCOPES: "openid offline_access carillon/write",
        PAGE_SIGN_IN_PARAMETERS: "audience=https://carillon.example.com prompt=login",
        PAGE_CONNECT_ORIGINS: "https://tokens.example.com",
      },
    ],
  ])("the page's function knows where its readers sign in: %s", (_, settings, expected) => {
    const made = synthesised({ ...signIn, ...settings });
    const [page] = made.ofType("AWS::Lambda::Function").filter(([id]) => id.startsWith("Page"));
    expect(Object(page?.[1].Properties["Environment"]).Variables).toMatchObject(expected);
  });

  test("the page of an API with tokens has no variables of a sign-in", () => {
    const [page] = synthesised()
      .ofType("AWS::Lambda::Function")
      .filter(([id]) => id.startsWith("Page"));
    const { Variables } = Object(page?.[1].Properties["Environment"]);
    expect(Object.keys(Variables).filter((name) => name.startsWith("PAGE_"))).toEqual([
      "PAGE_NAME",
      "PAGE_DIRECTORY",
      "PAGE_LOGS_LINK",
    ]);
  });
});

describe("the page behind a REST API", () => {
  const stack = synthesised({ apiKind: "rest" });

  test("a REST API sends the API's paths to the API and all others to the page, and compresses answers", () => {
    expect(methodsOf(stack)).toEqual({
      "ANY /": "Page",
      "ANY /{proxy+}": "Page",
      "ANY /v1": "Api",
      "ANY /v1/{proxy+}": "Api",
      "ANY /health": "Api",
    });
    stack.template.hasResourceProperties("AWS::ApiGateway::RestApi", { MinimumCompressionSize: 1_024 });
    for (const [, { Properties }] of stack.ofType("AWS::ApiGateway::Method"))
      expect(Properties["AuthorizationType"]).toBe("NONE");
  });

  test("without a page a REST API sends every path to the API, and compresses nothing", () => {
    const without = synthesised({ apiKind: "rest", page: false });
    expect(methodsOf(without)).toEqual({ "ANY /": "Api", "ANY /{proxy+}": "Api" });
    const [api] = without.ofType("AWS::ApiGateway::RestApi");
    expect(api?.[1].Properties).not.toHaveProperty("MinimumCompressionSize");
  });
});

describe("the page's links to logs", () => {
  const linkOf = (stack: Synthesised) => variableOf(stack, "PAGE_LOGS_LINK");
  const ifAws = z.object({ "Fn::If": z.tuple([z.string(), z.unknown(), z.unknown()]) });
  const joined = z.object({ "Fn::Join": z.tuple([z.literal(""), z.array(z.unknown())]) });

  test("By default a job's log is a query of the functions that work on jobs, in the console of the stack's region", () => {
    const stack = synthesised();
    const [condition, link, otherwise] = ifAws.parse(linkOf(stack))["Fn::If"];
    expect(stack.template.toJSON()["Conditions"]).toEqual({
      [condition]: { "Fn::Equals": [{ Ref: "AWS::Partition" }, "aws"] },
    });
    expect(otherwise).toEqual({ Ref: "AWS::NoValue" });
    const parts = joined
      .parse(link)
      ["Fn::Join"][1].map((part) => (typeof part === "string" ? part : `<${idIn(part)}>`));
    const groups = stack.ofType("AWS::Logs::LogGroup").map(([id]) => id);
    const [fast, slow, webhook] = ["FastWorker", "SlowWorker", "WebhookSender"].map((name) =>
      groups.find((id) => id.startsWith(`${name}FunctionLogs`)),
    );
    expect(parts.join("")).toBe(
      "https://<AWS::Region>.console.aws.amazon.com/cloudwatch/home?region=<AWS::Region>" +
        "#logsV2:logs-insights$3FqueryDetail$3D~(end~'{to*}~start~'{from*}~timeType~'ABSOLUTE~tz~'UTC" +
        "~editorString~'fields*20*40timestamp*2c*20level*2c*20event*2c*20error*2c*20*40message" +
        "*0a*7c*20filter*20job*20*3d*20*22{jobId*}*22*0a*7c*20sort*20*40timestamp*20asc*0a*7c*20limit*201000" +
        `~source~(~'<${fast}>~'<${slow}>~'<${webhook}>))`,
    );
  });

  test("A deployment's own link replaces that query, and none leaves the links out", () => {
    const own = "https://logs.example.com/search?q=job:{jobId}&from={from}&to={to}";
    expect(linkOf(synthesised({ pageLogsLink: own }))).toBe(own);
    const without = synthesised({ pageLogsLink: "none" });
    expect(linkOf(without)).toBeUndefined();
    expect(without.template.toJSON()).not.toHaveProperty("Conditions");
  });
});

describe("the setting of the page", () => {
  const nameOf = (settings: Record<string, string>) => variableOf(synthesised(settings), "PAGE_NAME");

  test("the page has the name of the stack, another one by pageName, and none with none", () => {
    expect(nameOf({})).toBe("Carillon");
    expect(nameOf({ pageName: "Billing, production" })).toBe("Billing, production");
    expect(nameOf({ pageName: "none" })).toBeUndefined();
    expect(() => synthesised({ pageName: "two\nlines" })).toThrow("it takes a name of up to 40");
  });

  test.each([
    ["by default", {}, "https://", "/"],
    ["of a REST API", { apiKind: "rest" }, "https://", "/api/"],
  ])("the stack outputs the address of the page, with a slash at its end: %s", (_, settings, start, end) => {
    const stack = synthesised(settings);
    expect(pagesOf(stack)).toEqual(["function", "PageUrl"]);
    const { Value } = Object(stack.template.findOutputs("PageUrl")["PageUrl"]);
    const parts: unknown[] = Value["Fn::Join"][1];
    expect([parts.at(0), parts.at(-1)]).toEqual([start, end]);
  });

  test("the stack outputs the address of a page that signs in with an issuer", () => {
    expect(pagesOf(synthesised(signIn))).toEqual(["function", "PageUrl"]);
  });

  test("the page of an API with a domain name has that name", () => {
    const name = { apiDomainName: "a.example.com", apiCertificateArn: certificate };
    synthesised(name).template.hasOutput("PageUrl", { Value: "https://a.example.com/" });
  });

  test.each([
    ["page off", { page: "false" }],
    ["signed requests", iam],
    ["JWTs without a client of the page", jwt],
    ["API keys", { apiKind: "rest", apiKeyNames: "billing" }],
  ])("a stack has no page where its reader could not sign in: %s", (_, settings) => {
    const stack = synthesised(settings);
    expect(pagesOf(stack)).toEqual([]);
    const behind = [...Object.values(routesOf(stack)), ...Object.values(methodsOf(stack))];
    expect(behind.length).toBeGreaterThan(0);
    for (const fn of behind) expect(fn).toBe("Api");
  });
});
