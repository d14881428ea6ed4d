import { App, Stack } from "aws-cdk-lib";
import { Annotations, Match, Template } from "aws-cdk-lib/assertions";
import { AccountPrincipal, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { expect, test } from "vitest";
import { Carillon, type CarillonProps } from "../../infra/carillon.ts";

function setup(propsFor: (caller: Role) => CarillonProps) {
  const stack = new Stack(new App({ context: { "aws:cdk:bundling-stacks": [] } }), "Theirs");
  const caller = new Role(stack, "Caller", { assumedBy: new AccountPrincipal("123456789012") });
  return { stack, caller, carillon: new Carillon(stack, "Carillon", propsFor(caller)) };
}

const statementOf = (stack: Stack, role: RegExp, statement: object) =>
  Template.fromStack(stack).hasResourceProperties("AWS::IAM::Policy", {
    Roles: [{ Ref: Match.stringLikeRegexp(role.source) }],
    PolicyDocument: { Statement: Match.arrayWith([Match.objectLike(statement)]) },
  });

const signed = (caller: Role): CarillonProps => ({
  apiAuth: "iam",
  apiPrincipals: [`${caller.roleArn} write`],
});

test.each<[kind: "http" | "rest", stage: string]>([
  ["http", "$default"],
  ["rest", "api"],
])("A grant to invoke the API of the kind %s is on its stage %s and on no other API", (apiKind, stage) => {
  const { stack, caller, carillon } = setup((role) => ({ ...signed(role), apiKind }));
  carillon.grantInvokeApi(caller).assertSuccess();
  statementOf(stack, /^Caller/, {
    Action: "execute-api:Invoke",
    Effect: "Allow",
    Resource: {
      "Fn::Join": ["", Match.arrayWith([{ Ref: Match.stringLikeRegexp("^CarillonApi") }, `/${stage}/*/*`])],
    },
  });
  Annotations.fromStack(stack).hasNoWarning("*", Match.stringLikeRegexp("apiPrincipals"));
});

test.each([
  ["arn:aws:iam::123456789012:role/deployer admin", true],
  ["arn:aws:iam::123456789012:role/billing-* write", false],
])("A caller that no entry of apiPrincipals can match is named in a warning: with %j %j", (entry, warns) => {
  const { stack, caller, carillon } = setup(() => ({ apiAuth: "iam", apiPrincipals: [entry] }));
  carillon.grantInvokeApi(caller);
  const found = Annotations.fromStack(stack).findWarning(
    "*",
    Match.stringLikeRegexp("^Theirs/Caller may invoke the API, but no entry of apiPrincipals names it"),
  );
  expect(found).toHaveLength(warns ? 1 : 0);
});

test.each<[CarillonProps, string]>([
  [{}, "apiAuth is token, so the API asks for no rights of IAM"],
  [
    { apiAuth: "jwt", apiJwtIssuer: "https://login.example.com/", apiJwtAudience: ["carillon"] },
    "apiAuth is jwt, so the API asks for no rights of IAM",
  ],
])(
  "A grant to invoke an API that checks no signatures is refused at the app's own line: %j",
  (props, sentence) => {
    const { caller, carillon } = setup(() => props);
    let caught: unknown;
    try {
      carillon.grantInvokeApi(caller);
    } catch (error) {
      caught = error;
    }
    if (!(caught instanceof Error)) throw new Error("The grant was made.");
    expect(caught.message).toContain(sentence);
    expect(caught.stack?.split("\n").find((line) => line.startsWith("    at "))).toContain(
      "caller-grants.test.ts",
    );
  },
);

test("Where commandSenders lists the callers, a grant to another role is refused, and one to a service is made", () => {
  const { caller, carillon } = setup(() => ({ commandSenders: ["arn:aws:iam::123456789012:role/checkout"] }));
  expect(() => carillon.grantSendCommands(caller)).toThrow("add the caller's ARN to the list");
  carillon.grantSendCommands(new ServicePrincipal("sns.amazonaws.com")).assertSuccess();
});

test("A grant to send commands is on the ingest queue, for roles and for services of AWS", () => {
  const { stack, caller, carillon } = setup(() => ({}));
  carillon.grantSendCommands(caller).assertSuccess();
  carillon.grantSendCommands(new ServicePrincipal("sns.amazonaws.com")).assertSuccess();
  const queue = { "Fn::GetAtt": [Match.stringLikeRegexp("^CarillonIngestQueue"), "Arn"] };
  const actions = ["sqs:SendMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl"];
  statementOf(stack, /^Caller/, { Action: actions, Resource: queue });
  Template.fromStack(stack).hasResourceProperties("AWS::SQS::QueuePolicy", {
    PolicyDocument: {
      Statement: Match.arrayWith([
        Match.objectLike({ Action: actions, Principal: { Service: "sns.amazonaws.com" }, Resource: queue }),
      ]),
    },
  });
});
