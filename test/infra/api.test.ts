import { Match } from "aws-cdk-lib/assertions";
import { beforeAll, describe, expect, test } from "vitest";
import { idIn, type Synthesised, synthesised } from "./synthesised.ts";

/** What a gateway may write down: no header and no query, since either may hold what must not be kept. */
const recorded = {
  DestinationArn: Match.anyValue(),
  Format: Match.not(Match.stringLikeRegexp("(authorization|header|query)")),
};

describe("a REST API", () => {
  let stack: Synthesised;
  beforeAll(() => {
    stack = synthesised({ apiKind: "rest", apiRequestsPerSecond: 70, apiRequestBurst: 30 });
  });

  test("takes the place of the HTTP API, and hands every path and method to the function", () => {
    stack.template.resourceCountIs("AWS::ApiGatewayV2::Api", 0);
    stack.template.hasResourceProperties("AWS::ApiGateway::RestApi", {
      EndpointConfiguration: { Types: ["REGIONAL"] },
    });
    const [proxy] = stack.ofType("AWS::ApiGateway::Resource");
    expect(proxy?.[1].Properties["PathPart"]).toBe("{proxy+}");
    const methods = stack.ofType("AWS::ApiGateway::Method").map(([, { Properties }]) => Properties);
    expect(methods.map(({ HttpMethod, Integration }) => [HttpMethod, Object(Integration).Type])).toEqual([
      ["ANY", "AWS_PROXY"],
      ["ANY", "AWS_PROXY"],
    ]);
  });

  test("takes a bounded number of requests and keeps a record of each, without headers and queries", () => {
    stack.template.hasResourceProperties("AWS::ApiGateway::Stage", {
      MethodSettings: [
        Match.objectLike({
          HttpMethod: "*",
          ResourcePath: "/*",
          ThrottlingBurstLimit: 30,
          ThrottlingRateLimit: 70,
          DataTraceEnabled: false,
        }),
      ],
      AccessLogSetting: recorded,
    });
  });

  test("leaves the account's role for logs as it is, unless it is asked to make it", () => {
    stack.template.resourceCountIs("AWS::ApiGateway::Account", 0);
  });

  test("is the only one that may call the function, with whatever event", () => {
    const [[api] = []] = stack.ofType("AWS::ApiGateway::RestApi");
    const allowed = stack
      .ofType("AWS::Lambda::Permission")
      .filter(([, { Properties }]) => idIn(Properties["FunctionName"]).startsWith("ApiFunction"));
    expect(allowed).toHaveLength(1);
    expect(allowed[0]?.[1].Properties).toMatchObject({ Principal: "apigateway.amazonaws.com" });
    expect(JSON.stringify(allowed[0]?.[1].Properties["SourceArn"])).toContain(`{"Ref":"${api}"}`);
  });

  test("has an alarm on its own count of what it answered 5xx", () => {
    stack.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
      Namespace: "AWS/ApiGateway",
      MetricName: "5XXError",
      Dimensions: Match.arrayWith([{ Name: "Stage", Value: { Ref: Match.stringLikeRegexp("Stage") } }]),
    });
  });
});
