import path from "node:path";
import { App, CfnParameter, Stack } from "aws-cdk-lib";
import { Annotations, Match, Template } from "aws-cdk-lib/assertions";
import { AttributeType, Table } from "aws-cdk-lib/aws-dynamodb";
import { type IVpc, Port, SecurityGroup, Vpc } from "aws-cdk-lib/aws-ec2";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Carillon, type CarillonProps } from "../../infra/carillon.ts";
import { ownBeginnings, ownVariables } from "../../infra/functions/variables.ts";
import { readVariables } from "./read-variables.ts";
import { synthesised } from "./synthesised.ts";
import { variants } from "./variants.ts";

const importing = ["Api", "FastWorker", "Ingest", "SlowWorker", "Tick"];

const setup = (props: CarillonProps = {}) => setupIn(() => props);

function setupIn(propsIn: (stack: Stack) => CarillonProps) {
  const stack = new Stack(new App({ context: { "aws:cdk:bundling-stacks": [] } }), "Theirs");
  const handlersEntry = path.join(import.meta.dirname, "own-handlers.ts");
  return { stack, carillon: new Carillon(stack, "Carillon", { handlersEntry, ...propsIn(stack) }) };
}

const functionsOf = (stack: Stack, prefix = "Carillon") => {
  const shape = z.object({
    Environment: z.object({ Variables: z.record(z.string(), z.unknown()) }).optional(),
  });
  return Object.entries(Template.fromStack(stack).findResources("AWS::Lambda::Function")).flatMap(
    ([id, { Properties }]) => {
      const construct = new RegExp(`^${prefix}(\\w+?)Function[0-9A-F]{8}$`).exec(id)?.[1];
      const variables = shape.parse(Properties).Environment?.Variables ?? {};
      return construct === undefined ? [] : [{ construct, variables }];
    },
  );
};

/** The constructs whose functions have a right. */
function allowed(stack: Stack, action: string): string[] {
  return Object.values(Template.fromStack(stack).findResources("AWS::IAM::Policy"))
    .filter(({ Properties }) => JSON.stringify(Properties["PolicyDocument"]).includes(`"${action}"`))
    .map(({ Properties }) =>
      String(Properties["Roles"][0].Ref).replace(/^Carillon(\w+)FunctionRole\w+$/, "$1"),
    );
}

test("Rights that an app grants its handlers go to the slow worker alone, which runs them", () => {
  const { stack, carillon } = setup();
  const table = new Table(stack, "Orders", { partitionKey: { name: "id", type: AttributeType.STRING } });
  table.grantReadWriteData(carillon.handlers).assertSuccess();
  carillon.handlers.addToRolePolicy(new PolicyStatement({ actions: ["ses:SendEmail"], resources: ["*"] }));
  expect(allowed(stack, "dynamodb:PutItem")).toEqual(["SlowWorker"]);
  expect(allowed(stack, "ses:SendEmail")).toEqual(["SlowWorker"]);
});

describe("rights of handlers in a service that their network does not reach", () => {
  const warned = (props: CarillonProps, action: string) => {
    const { stack, carillon } = setup(props);
    carillon.handlers.addToRolePolicy(new PolicyStatement({ actions: [action], resources: ["*"] }));
    return Annotations.fromStack(stack)
      .findWarning("*", Match.stringLikeRegexp("carillon:endpoint"))
      .map(({ entry }) => String(entry.data));
  };
  const others = ["sqs", "events", "lambda", "secretsmanager"] as const;

  test.each([
    ["dynamodb:GetItem", {}, ["dynamodb"]],
    ["dynamodb:GetItem", { endpoints: [...others, "s3"] }, ["dynamodb"]],
    ["s3:GetObject", {}, ["s3"]],
    ["s3:GetObject", { archiveBucket: "old-jobs" }, ["s3"]],
    ["s3:GetObject", { endpoints: [...others, "s3"] }, []],
    ["dynamodb:GetItem", { endpoints: [...others, "dynamodb"] }, []],
    ["ses:SendEmail", { archiveBucket: "old-jobs" }, []],
  ] satisfies [string, CarillonProps, string[]][])(
    "with the right %s and %j, the synthesis warns of the endpoints %j",
    (action, props, names) => {
      const found = warned(props, action);
      expect(found).toHaveLength(names.length);
      for (const [index, name] of names.entries())
        expect(found[index]).toContain(`Add "${name}" to \`endpoints\``);
    },
  );

  test("in a VPC of the app, whose routes are not known, nothing is warned of", () => {
    const { stack, carillon } = setupIn((own) => ({ vpc: new Vpc(own, "Own") as IVpc }));
    carillon.handlers.addToRolePolicy(new PolicyStatement({ actions: ["s3:GetObject"], resources: ["*"] }));
    expect(
      Annotations.fromStack(stack).findWarning("*", Match.stringLikeRegexp("carillon:endpoint")),
    ).toEqual([]);
  });
});

test("A variable of the handlers is set in every function that imports their module, and in no other", () => {
  const { stack, carillon } = setup();
  const table = new Table(stack, "Orders", { partitionKey: { name: "id", type: AttributeType.STRING } });
  carillon.handlers.addEnvironment("ORDERS_TABLE", table.tableName).addEnvironment("SHOP", "north");
  const having = functionsOf(stack).filter(({ variables }) => "ORDERS_TABLE" in variables);
  expect(having.map(({ construct }) => construct).toSorted()).toEqual(importing);
  for (const { variables } of having) expect(variables["SHOP"]).toBe("north");
});

test.each(["DATABASE_URL", "NODE_OPTIONS", "AWS_REGION", "CARILLON_LOG", "API_RATE"])(
  "A variable of the handlers cannot be %s, which Carillon uses, and the refusal lists every such name",
  (name) => {
    const { carillon } = setup();
    const add = () => carillon.handlers.addEnvironment(name, "theirs");
    expect(add).toThrow(`Carillon's functions use ${name} themselves`);
    for (const each of [...ownVariables, ...ownBeginnings]) expect(add).toThrow(each);
  },
);

test.each(["", "1ST", "A-B", "_HANDLER"])("A variable of the handlers cannot be called %j", (name) => {
  expect(() => setup().carillon.handlers.addEnvironment(name, "x")).toThrow(
    "cannot be the name of a variable",
  );
});

test("The refused names are those that a function reads or gets, and no others", () => {
  const set = Object.values(variants).flatMap((settings) => {
    const { template } = synthesised(settings);
    return Object.entries(template.findResources("AWS::Lambda::Function"))
      .filter(([id]) => !id.includes("framework"))
      .flatMap(([, { Properties }]) => Object.keys(Properties["Environment"]?.["Variables"] ?? {}));
  });
  const used = [...new Set([...set, ...readVariables()])].filter(
    (name) => !ownBeginnings.some((beginning) => name.startsWith(beginning)) && !name.startsWith("_"),
  );
  expect([...ownVariables].toSorted()).toEqual(used.toSorted());
});

test("A variable of the handlers that does not fit into Lambda's four kilobytes is refused with the function's name", () => {
  const { carillon } = setup();
  expect(() => carillon.handlers.addEnvironment("LONG", "x".repeat(4_000))).toThrow(
    /^addEnvironment: with LONG the variables of Theirs\/Carillon\/\w+\/Function take about \d+ bytes, and Lambda takes 4096/,
  );
  const half = "x".repeat(700);
  carillon.handlers.addEnvironment("FIRST", half);
  carillon.handlers.addEnvironment("FIRST", half);
  expect(() =>
    carillon.handlers
      .addEnvironment("SECOND", half)
      .addEnvironment("THIRD", half)
      .addEnvironment("FOURTH", half),
  ).toThrow("with FOURTH");
});

test("A variable of the handlers may be a parameter of the stack, whose length is unknown at synth", () => {
  const { stack, carillon } = setup();
  carillon.handlers.addEnvironment("SHOP", new CfnParameter(stack, "Shop").valueAsString);
  for (const { variables } of functionsOf(stack).filter(({ construct }) => importing.includes(construct)))
    expect(variables["SHOP"]).toEqual({ Ref: "Shop" });
});

test("A resource may admit the handlers, which are connected by the functions' group", () => {
  const { stack, carillon } = setup();
  const group = SecurityGroup.fromSecurityGroupId(stack, "Cache", "sg-0123456789abcdef0");
  group.connections.allowFrom(carillon.handlers, Port.tcp(6379));
  Template.fromStack(stack).hasResourceProperties("AWS::EC2::SecurityGroupIngress", {
    GroupId: "sg-0123456789abcdef0",
    FromPort: 6379,
  });
});
