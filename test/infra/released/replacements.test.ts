import { readFileSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import packageJson from "../../../package.json" with { type: "json" };
import { deployments, templateOf } from "./deployments.ts";
import { type FrozenPart, frozenTemplate } from "./frozen-template.ts";
import { frozenTypes, replaceableTypes } from "./frozen-types.ts";
import { namedInChangelog } from "./named-in-changelog.ts";
import { plainParameters } from "./plain-parameters.ts";
import { readRelease, releaseText } from "./released-file.ts";
import { replacements } from "./replacements.ts";

const changelog = readFileSync(new URL("../../../CHANGELOG.md", import.meta.url), "utf8");
const release = readRelease();

const anything = z.record(z.string(), z.unknown());
const shape = z.looseObject({
  Resources: z.record(z.string(), z.looseObject({ Type: z.string(), Properties: anything.default({}) })),
  Outputs: z.record(z.string(), z.looseObject({})).default({}),
});
type Template = z.infer<typeof shape>;

const made = new Map<string, unknown>();
afterAll(() => made.clear());

/** A template for these settings, made once. */
function once(name: string, settings: Parameters<typeof templateOf>[1]): unknown {
  const key = JSON.stringify(settings);
  const found = made.get(key) ?? templateOf(name, settings);
  made.set(key, found);
  return found;
}

const queue = "IngestQueue95F6DB49";
const stage = "ApiHttpStage79985CC1";

/** The replacements in the default deployment, after a change of its template. */
function after(change: (template: Template) => void): string[] {
  const { default: plain } = release.deployments;
  if (plain === undefined) return expect.unreachable();
  const changed = shape.parse(structuredClone(once("default", plain.settings)));
  change(changed);
  const one = { ...release, deployments: { default: plain } };
  return replacements(one, plainParameters, () => changed).map(({ why }) => why);
}

function resource({ Resources }: Template, id: string) {
  return Resources[id] ?? expect.unreachable();
}

test("An upgrade from the last release replaces nothing of the frozen list that the changelog does not name", () => {
  const named = namedInChangelog(changelog, "Replaces");
  const found = replacements(release, plainParameters, once);
  expect(
    found.filter(({ id }) => !named.includes(id)).map(({ why }) => why),
    'name each in CHANGELOG.md under "Unreleased", as "- Replaces: `Id` (reason, what to do)"',
  ).toEqual([]);
  const replaced = found.map(({ id }) => id);
  expect(
    named.filter((id) => !replaced.includes(id)),
    "CHANGELOG.md says that these are replaced, and they are not",
  ).toEqual([]);
});

test("The frozen templates are those of the version in package.json; if not, run npm run released", () => {
  expect(release.version).toBe(packageJson.version);
});

test("Every type of a resource in a template is either frozen or replaceable, and each listed type is in a template", () => {
  const templates = Object.entries(deployments()).map(([name, settings]) => once(name, settings));
  const types = templates.flatMap((each) =>
    Object.values(shape.parse(each).Resources).map(({ Type }) => Type),
  );
  const listed = [...Object.keys(frozenTypes), ...Object.keys(replaceableTypes)];
  expect(listed.toSorted()).toEqual([...new Set(types)].toSorted());
});

test("No frozen resource is replaced along with a replaceable one", () => {
  for (const [name, settings] of Object.entries(deployments())) {
    const template = shape.parse(once(name, settings));
    const replaceable = Object.entries(template.Resources).filter(([, { Type }]) => Type in replaceableTypes);
    const parts: FrozenPart[] = Object.values(frozenTemplate(template));
    const fixed = JSON.stringify(parts.map((part) => part.fixed));
    expect(replaceable.filter(([id]) => fixed.includes(`"${id}"`)).map(([id]) => id)).toEqual([]);
  }
});

test("The released file says the same after it is read and written", () => {
  expect(readRelease(releaseText(release))).toEqual(release);
});

test("A queue with another name is a replacement", () => {
  const found = after((template) => {
    resource(template, queue).Properties["QueueName"] = "carillon-commands";
  });
  expect(found).toEqual([`${queue} (AWS::SQS::Queue) is replaced, with another QueueName, in: default`]);
});

test("A resource whose construct has another id is a replacement", () => {
  const found = after((template) => {
    template.Resources["CommandsQueue95F6DB49"] = resource(template, queue);
    delete template.Resources[queue];
  });
  expect(found).toEqual([`${queue} (AWS::SQS::Queue) is removed or has another logical id, in: default`]);
});

test("A resource that is removed is a replacement", () => {
  const found = after((template) => {
    delete template.Resources["WebhookSenderKey41A26B71"];
  });
  expect(found).toEqual([
    "WebhookSenderKey41A26B71 (AWS::KMS::Key) is removed or has another logical id, in: default",
  ]);
});

test("A change of a property that replaces, or may replace, is a replacement, also where it was not given before", () => {
  const found = after((template) => {
    resource(template, stage).Properties["StageName"] = "v1";
    resource(template, "DatabaseInstanceAA8A5FDE").Properties["DBInstanceIdentifier"] = "carillon";
    resource(template, "DatabaseInstanceAA8A5FDE").Properties["Engine"] = "mysql";
  });
  expect(found).toEqual([
    `${stage} (AWS::ApiGatewayV2::Stage) is replaced, with another StageName, in: default`,
    "DatabaseInstanceAA8A5FDE (AWS::RDS::DBInstance) is replaced, with another Engine and DBInstanceIdentifier, in: default",
  ]);
});

test("Another type at the same logical id is a replacement", () => {
  const found = after((template) => {
    resource(template, queue).Type = "AWS::SNS::Topic";
    resource(template, stage).Type = "AWS::ApiGateway::Stage";
  });
  expect(found).toEqual([
    `${stage} (AWS::ApiGatewayV2::Stage) becomes AWS::ApiGateway::Stage, in: default`,
    `${queue} (AWS::SQS::Queue) is removed or has another logical id, in: default`,
  ]);
});

test("An output that is removed, or has another value or export, is a replacement", () => {
  const found = after(({ Outputs }) => {
    delete Outputs["AdminTokenSecret"];
    Object.assign(Outputs["ApiUrl"] ?? {}, { Value: "https://api.example.com" });
    Object.assign(Outputs["IngestQueueUrl"] ?? {}, { Export: { Name: "queue" } });
  });
  expect(found).toEqual([
    "AdminTokenSecret (Output) is removed or has another logical id, in: default",
    "ApiUrl (Output) gets another Value, in: default",
    "IngestQueueUrl (Output) gets another Export, in: default",
  ]);
});

test("A secret that is generated in another way is a replacement, because it may hold another text", () => {
  const secret = "MigrationAdminToken2A3CF415";
  const found = after((template) => {
    resource(template, secret).Properties["GenerateSecretString"] = { PasswordLength: 64 };
  });
  expect(found).toEqual([
    `${secret} (AWS::SecretsManager::Secret) is replaced, with another GenerateSecretString, in: default`,
  ]);
});

test("A change in place, a new resource, a new output and another alarm are no replacements", () => {
  const found = after((template) => {
    resource(template, queue).Properties["VisibilityTimeout"] = 1;
    resource(template, "DatabaseInstanceAA8A5FDE").Properties["DBInstanceClass"] = "db.m7g.large";
    template.Resources["More"] = resource(template, queue);
    template.Outputs["More"] = { Value: "more" };
    delete template.Resources["IngestLate6D312ED6"];
  });
  expect(found).toEqual([]);
});

test("A parameter of the plain template that is removed is a replacement", () => {
  const fewer = plainParameters.filter((name) => name !== "DatabaseClass");
  expect(replacements({ ...release, deployments: {} }, fewer)).toEqual([
    { id: "DatabaseClass", why: "The parameter DatabaseClass of the plain template is removed" },
  ]);
});

test("A setting that this version does not take any more fails with the name of the deployment", () => {
  expect(() => templateOf("that of a release", { databaseColour: "red" })).toThrow(
    "that of a release: this version does not take the settings of the release.",
  );
});

test("A changelog names replacements under Unreleased alone, several in a line, with a reason", () => {
  const named = (...items: string[]) =>
    namedInChangelog(`# Changelog\n\n## Unreleased\n\n${items.join("\n")}\n`, "Replaces");
  expect(
    named("- Replaces: `QueueOne`,\n  `QueueTwo` (a new name, drain\n  both before).", "- Faster."),
  ).toEqual(["QueueOne", "QueueTwo"]);
  expect(named("- Faster.", "", "## 0.0.9", "", "- Replaces: `QueueOne` (a new name)")).toEqual([]);
  for (const wrong of [
    "- Replaces: `QueueOne`",
    "- Replaces: QueueOne (a new name)",
    "- Replaces: `A` (why).",
  ])
    expect(() => named(wrong)).toThrow("This line must have the form");
});
