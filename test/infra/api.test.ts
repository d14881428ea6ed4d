import { Match } from "aws-cdk-lib/assertions";
import { beforeAll, describe, expect, test } from "vitest";
import { idIn, type Synthesised, synthesised } from "./synthesised.ts";

/**
 * The fields of a gateway's access log: no headers and no query strings, since either may hold
 * secrets.
 */
const recorded = {
  DestinationArn: Match.anyValue(),
  Format: Match.not(Match.stringLikeRegexp("(authorization|header|query)")),
};

describe("a REST API", () => {
  let stack: Synthesised;
  beforeAll(() => {
    stack = synthesised({ apiKind: "rest", apiRequestsPerSecond: 70, apiRequestBurst: 30 });
  });

  test("a REST API replaces the HTTP API, and without a page passes every path and method to the function", () => {
    const plain = synthesised({ apiKind: "rest", page: false });
    const [proxy, ...others] = plain.ofType("AWS::ApiGateway::Resource");
    expect(proxy?.[1].Properties["PathPart"]).toBe("{proxy+}");
    expect(others).toEqual([]);
    const methods = plain.ofType("AWS::ApiGateway::Method").map(([, { Properties }]) => Properties);
    expect(methods.map(({ HttpMethod, Integration }) => [HttpMethod, Object(Integration).Type])).toEqual([
      ["ANY", "AWS_PROXY"],
      ["ANY", "AWS_PROXY"],
    ]);
    plain.template.resourceCountIs("AWS::ApiGatewayV2::Api", 0);
  });

  test("a REST API is regional", () => {
    stack.template.hasResourceProperties("AWS::ApiGateway::RestApi", {
      EndpointConfiguration: { Types: ["REGIONAL"] },
    });
  });

  test("a REST API limits requests and logs each of them, without headers and query strings", () => {
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

  test("a REST API leaves the account's role for logs unchanged unless a setting requests it", () => {
    stack.template.resourceCountIs("AWS::ApiGateway::Account", 0);
  });

  test("only the REST API may invoke the function, for any method and path", () => {
    const [[api] = []] = stack.ofType("AWS::ApiGateway::RestApi");
    const allowed = stack
      .ofType("AWS::Lambda::Permission")
      .filter(([, { Properties }]) => idIn(Properties["FunctionName"]).startsWith("ApiFunction"));
    expect(allowed).toHaveLength(1);
    expect(allowed[0]?.[1].Properties).toMatchObject({ Principal: "apigateway.amazonaws.com" });
    expect(JSON.stringify(allowed[0]?.[1].Properties["SourceArn"])).toContain(`{"Ref":"${api}"}`);
  });

  test("a REST API has an alarm on its own count of 5xx answers", () => {
    stack.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
      Namespace: "AWS/ApiGateway",
      MetricName: "5XXError",
      Dimensions: Match.arrayWith([{ Name: "Stage", Value: { Ref: Match.stringLikeRegexp("Stage") } }]),
    });
  });
});
