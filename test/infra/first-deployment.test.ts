import { fullDiff, ResourceImpact } from "@aws-cdk/cloudformation-diff";
import { Annotations, Match } from "aws-cdk-lib/assertions";
import { describe, expect, test } from "vitest";
import { type Resource, stackOf, synthesised } from "./synthesised.ts";
import { variants } from "./variants.ts";

/** Resources that stay when the deployment that made them is rolled back, each with the reason. */
const stays: Readonly<Record<string, string>> = {
  "AWS::ApiGateway::Account": "the setting of a region, which other REST APIs use from then on",
  "AWS::IAM::Role": "the role of that setting: without it other REST APIs would write no logs",
};

/** Properties with which a resource refuses its deletion. */
const protection = /(Deletion|Termination)Protection/;

/** The names of a resource that two of its kind cannot have at once. */
const namesOf = ({ Type, Properties }: Resource) =>
  Object.keys(Properties).filter((name) => name === `${Type.split("::").at(-1)}Name` || name === "Name");

const protectedDatabases: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { database: "aurora", highlyAvailable: true },
  { databaseProxy: true },
  { apiKind: "rest", apiMakesLogRole: true },
];

describe.each(Object.entries(variants))("%s", (_name, settings) => {
  const resources = Object.entries(synthesised(settings).resources);

  test("A rollback of the first deployment keeps no resource but those with a reason, and none that has a name", () => {
    const kept = resources.filter(([, { DeletionPolicy }]) => DeletionPolicy === "Retain");
    for (const [id, resource] of kept) {
      expect(Object.keys(stays), id).toContain(resource.Type);
      expect(namesOf(resource), id).toEqual([]);
    }
  });

  test("Each database, cluster or instance says whether its deletion leaves a snapshot", () => {
    for (const [id, { Type, DeletionPolicy }] of resources)
      if (/^AWS::RDS::DB(Instance|Cluster)$/.test(Type))
        expect(DeletionPolicy, id).toMatch(/^(Snapshot|Delete)$/);
  });
});

test.each(protectedDatabases)(
  "An unprotected first deployment has nothing that refuses its deletion, with %j",
  (settings) => {
    const first = { ...settings, databaseProtected: false };
    expect(stackOf(first).terminationProtection).toBe(false);
    for (const [id, { Properties }] of Object.entries(synthesised(first).resources))
      for (const [name, value] of Object.entries(Properties))
        if (protection.test(name)) expect(value, `${id}.${name}`).toBe(false);
  },
);

test("Each synthesis of an unprotected database says that a deployment with protection has to follow", () => {
  const said = (settings: object) =>
    Annotations.fromStack(stackOf({ ...settings })).findInfo(
      "*",
      Match.stringLikeRegexp("databaseProtected"),
    );
  for (const database of ["rds", "aurora"]) {
    expect(said({ database, databaseProtected: false })).toHaveLength(1);
    expect(said({ database })).toEqual([]);
  }
});

test.each(protectedDatabases)(
  "Protection comes with the second deployment, which changes the database in place and nothing else, with %j",
  (settings) => {
    const first = synthesised({ ...settings, databaseProtected: false }).template.toJSON();
    const second = synthesised(settings).template.toJSON();
    const found: string[] = [];
    fullDiff(first, second).resources.forEachDifference(
      (id, { changeImpact, propertyUpdates, resourceType }) => {
        found.push(id);
        expect(resourceType).toMatch(/^AWS::RDS::DB(Instance|Cluster)$/);
        expect(changeImpact).toBe(ResourceImpact.WILL_UPDATE);
        expect(Object.keys(propertyUpdates).toSorted()).toEqual([
          "DeleteAutomatedBackups",
          "DeletionProtection",
        ]);
      },
    );
    expect(found).toHaveLength(1);
    expect(stackOf(settings).terminationProtection).toBe(true);
  },
);
