import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { checkConnectionBudget } from "../../../infra/database/connection-budget.ts";
import { settingsOfValues } from "../../../infra/settings.ts";
import { isObject, type JsonObject } from "../../../infra/tools/template/json.ts";
import {
  defaultsOf,
  isOptional,
  learnedFrom,
  settingsOf,
  type TemplateParameter,
} from "../../../infra/tools/template/parameter.ts";
import { type PlainTemplate, plainTemplate } from "../../../infra/tools/template/plain-template.ts";
import { templateFiles } from "../../../infra/tools/template/write-deployment.ts";
import { synthesised } from "../synthesised.ts";
import { evaluated } from "./evaluate.ts";
import { plain } from "./templates.ts";

type Values = Readonly<Record<string, string>>;

/** The CDK deploys this with the settings that these values stand for. */
function ofConstruct({ parameters }: PlainTemplate, values: Values, fixed: object = {}) {
  const zones = values["VpcId"] === undefined ? {} : { vpcAvailabilityZones: "eu-central-1a,eu-central-1b" };
  const settings = { stackSchedules: true, ...zones, ...fixed, ...settingsOf(parameters, values) };
  return evaluated(object(z.json().parse(synthesised(settings).template.toJSON())), {});
}

function object(value: unknown): JsonObject {
  const read = z.json().parse(value);
  if (!isObject(read)) throw new Error("A template is an object.");
  return read;
}

/** The names of a REST API, its deployment and the access log end in a hash of the stack's name. */
const withoutHash = (deployed: unknown) =>
  JSON.parse(
    JSON.stringify(deployed)
      .replaceAll(/(ApiRestApiDeployment[0-9A-F]{8})[0-9a-f]{32}/g, "$1")
      .replaceAll(/([-/]CarillonApi(Http|Rest))[0-9A-F]{8}/g, "$1"),
  );

const valuesOf = (parameter: TemplateParameter) => [
  ...learnedFrom(parameter),
  ...(parameter.byDefault === undefined ? [] : [parameter.byDefault]),
  ...(isOptional(parameter) ? [""] : []),
];

/** CloudFormation's rules refuse the others, which another test compares. */
function fits(parameters: readonly TemplateParameter[], values: Values): boolean {
  try {
    checkConnectionBudget(
      settingsOfValues(
        settingsOf(
          parameters.filter(({ group }) => group !== "Network"),
          values,
        ),
      ),
    );
    return true;
  } catch {
    return false;
  }
}

describe.each(Object.values(templateFiles))("%s", (file) => {
  let template: PlainTemplate;
  beforeAll(() => {
    template = plain(file);
  }, 600_000);

  test(`${file}: with its defaults it has the resources and outputs that the CDK deploys`, () => {
    const values = defaultsOf(template.parameters);
    const deployed = evaluated(template.template, values);
    expect(Object.keys(deployed.resources).length).toBeGreaterThan(100);
    expect(withoutHash(deployed)).toEqual(withoutHash(ofConstruct(template, values)));
  });

  test(`${file}: with any values it has the resources and outputs that the CDK deploys with these settings`, () => {
    const any = Object.fromEntries(
      template.parameters.map((parameter) => [parameter.name, fc.constantFrom(...valuesOf(parameter))]),
    );
    const fitting = fc.record(any).filter((values) => fits(template.parameters, values));
    fc.assert(
      fc.property(fitting, (values) => {
        expect(withoutHash(evaluated(template.template, values))).toEqual(
          withoutHash(ofConstruct(template, values)),
        );
      }),
      { numRuns: 12, endOnFailure: true },
    );
  }, 600_000);
});

test("values that the template was not learned from have the effect that the construct gives them", () => {
  const template = plain(templateFiles.ownNetwork);
  const values = {
    ...defaultsOf(template.parameters),
    DatabaseBackupDays: "3",
    JobRetentionDays: "91",
    AuditRetentionDays: "0",
    LogRetentionDays: "731",
    ApiRequestsPerSecond: "333",
    ApiRatePerToken: "7/m",
    ApiCorsOrigins: "http://localhost:5173",
    PageName: "Billing, production",
    TargetQueueArns: "arn:aws:sqs:us-east-1:210987654321:orders",
    TargetBusArns: "arn:aws:events:us-east-1:210987654321:event-bus/orders",
    TargetFunctionArns: "arn:aws:lambda:us-east-1:210987654321:function:resize-*",
    WebhookDenyNetworks: "192.0.2.0/24",
    AlarmTopicArn: "arn:aws:sns:us-east-1:210987654321:alarms",
    MetricsNamespace: "Orders",
  };
  expect(withoutHash(evaluated(template.template, values))).toEqual(
    withoutHash(ofConstruct(template, values)),
  );
}, 600_000);

test("settings of a file are fixed in the template, and their parameters are left out", () => {
  const given = {
    database: "aurora",
    archiveBucket: "orders-ledger",
    slowConcurrency: 20,
    apiKind: "rest",
    dashboard: false,
    page: false,
  };
  const template = plainTemplate(given, false);
  const names = template.parameters.map(({ name }) => name);
  for (const name of ["DatabaseClass", "DatabaseStorageGiB", "SlowConcurrency", "Dashboard", "PageName"])
    expect(names).not.toContain(name);
  expect(names).toContain("FastConcurrency");
  const values = { ...defaultsOf(template.parameters), MetricsNamespace: "Orders", HighlyAvailable: "true" };
  const deployed = withoutHash(evaluated(template.template, values));
  expect(deployed).toEqual(withoutHash(ofConstruct(template, values, given)));
}, 600_000);
