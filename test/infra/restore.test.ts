import { fullDiff, ResourceImpact } from "@aws-cdk/cloudformation-diff";
import { expect, test } from "vitest";
import { synthesised } from "./synthesised.ts";

const resourceId = "db-ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const clusterId = "cluster-ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const backupsArn = "arn:aws:rds:eu-central-1:123456789012:auto-backup:ab-abcdefghijklmnop";
const at = "2026-11-30T09:15:00Z";

type Given = Readonly<Record<string, unknown>>;

/** The resources that CloudFormation changes between two sets of settings, by the kind of change. */
function changes(from: Given, to: Given): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  fullDiff(
    synthesised(from).template.toJSON(),
    synthesised(to).template.toJSON(),
  ).resources.forEachDifference((id, change) => {
    const { changeImpact: impact, resourceType: type } = change;
    found[impact] = [...(found[impact] ?? []), `${type} ${id}`];
  });
  return found;
}

function databaseOf(settings: Given, type = "AWS::RDS::DBInstance") {
  return synthesised(settings).ofType(type)[0]?.[1].Properties ?? {};
}

test("A restore replaces the database's instance and changes no other resource", () => {
  const instance = ["AWS::RDS::DBInstance DatabaseInstanceAA8A5FDE"];
  for (const to of [
    { databaseSnapshot: "rds:carillon-2026-11-30-03-10" },
    { databaseRestoredFrom: resourceId, databaseRestoreTime: at },
    { databaseRestoredFrom: backupsArn },
  ])
    expect(changes({}, to)).toEqual({ [ResourceImpact.WILL_REPLACE]: instance });
});

test("A restore of a cluster replaces it with its instances and changes no other resource", () => {
  const aurora = { database: "aurora", highlyAvailable: true };
  for (const to of [{ databaseSnapshot: "before-the-loss" }, { databaseRestoredFrom: clusterId }])
    expect(changes(aurora, { ...aurora, ...to })).toEqual({
      [ResourceImpact.WILL_REPLACE]: [
        "AWS::RDS::DBCluster DatabaseCluster5B53A178",
        "AWS::RDS::DBInstance DatabaseClusterWriterD43085C6",
        "AWS::RDS::DBInstance DatabaseClusterStandby1D52630D",
      ],
    });
});

test("A restore behind RDS Proxy keeps the proxy", () => {
  const { [ResourceImpact.WILL_REPLACE]: replaced = [], ...others } = changes(
    { databaseProxy: true },
    { databaseProxy: true, databaseRestoredFrom: resourceId },
  );
  // The rules between the proxy and the database take their port from the database. CloudFormation compares
  // the port itself, which is the same.
  const rule = /^AWS::EC2::SecurityGroup(Ingress|Egress) Network\w+IndirectPort\w+$/;
  expect(replaced.filter((each) => !rule.test(each))).toEqual([
    "AWS::RDS::DBInstance DatabaseInstanceAA8A5FDE",
  ]);
  expect(others).toEqual({});
});

test("A restored instance leaves out what its backup decides, and names the backup", () => {
  const key = "arn:aws:kms:eu-central-1:123456789012:key/11111111-0000-0000-0000-000000000000";
  const decided = ["DBName", "KmsKeyId", "MasterUsername"];
  expect(Object.keys(databaseOf({ databaseKeyArn: key }))).toEqual(expect.arrayContaining(decided));
  const restored = databaseOf({
    databaseKeyArn: key,
    databaseRestoredFrom: resourceId,
    databaseRestoreTime: at,
  });
  for (const name of decided) expect(restored).not.toHaveProperty(name);
  expect(restored).toMatchObject({
    SourceDbiResourceId: resourceId,
    RestoreTime: at,
    StorageEncrypted: true,
    ManageMasterUserPassword: true,
    EnableIAMDatabaseAuthentication: true,
    DeletionProtection: true,
  });
  expect(restored).not.toHaveProperty("UseLatestRestorableTime");
  expect(databaseOf({ databaseRestoredFrom: backupsArn })).toMatchObject({
    SourceDBInstanceAutomatedBackupsArn: backupsArn,
    UseLatestRestorableTime: true,
  });
  expect(databaseOf({ databaseSnapshot: "carillon" })).toMatchObject({ DBSnapshotIdentifier: "carillon" });
});

test("A restored cluster leaves out what its backup decides, and names the backup", () => {
  const restored = (settings: Given) =>
    databaseOf({ database: "aurora", ...settings }, "AWS::RDS::DBCluster");
  for (const settings of [{ databaseSnapshot: "carillon" }, { databaseRestoredFrom: clusterId }])
    for (const name of ["DatabaseName", "MasterUsername"])
      expect(restored(settings)).not.toHaveProperty(name);
  expect(restored({ databaseSnapshot: "carillon" })).toMatchObject({ SnapshotIdentifier: "carillon" });
  expect(restored({ databaseRestoredFrom: clusterId, databaseRestoreTime: at })).toMatchObject({
    SourceDbClusterResourceId: clusterId,
    RestoreToTime: at,
  });
  expect(restored({ databaseRestoredFrom: clusterId })).toMatchObject({ UseLatestRestorableTime: true });
});

test("A backup of another kind of database is refused at synth, and so are two backups or a time without one", () => {
  const aurora = { database: "aurora" };
  const snapshot = "arn:aws:rds:eu-central-1:123456789012:snapshot:carillon";
  const refused: [Given, string][] = [
    [
      { databaseRestoredFrom: clusterId },
      "databaseRestoredFrom: it names a backup of an Aurora cluster, and database is rds",
    ],
    [
      { ...aurora, databaseRestoredFrom: resourceId },
      "it names a backup of an RDS instance, and database is aurora",
    ],
    [
      { ...aurora, databaseRestoredFrom: backupsArn },
      "it names a backup of an RDS instance, and database is aurora",
    ],
    [{ ...aurora, databaseSnapshot: snapshot }, "databaseSnapshot: it names a backup of an RDS instance"],
    [
      { databaseSnapshot: snapshot.replace(":snap", ":cluster-snap") },
      "databaseSnapshot: it names a backup of an Aurora",
    ],
    [{ databaseSnapshot: "carillon", databaseRestoredFrom: resourceId }, "give only one of the two"],
    [{ databaseRestoreTime: at }, "databaseRestoreTime: it needs databaseRestoredFrom"],
    [
      { databaseRestoredFrom: "carillon-database" },
      "carillon:databaseRestoredFrom: it takes a whole resource id",
    ],
    [{ databaseRestoredFrom: "db-abc" }, "carillon:databaseRestoredFrom: it takes a whole resource id"],
    [
      { databaseRestoredFrom: resourceId, databaseRestoreTime: "yesterday" },
      "carillon:databaseRestoreTime: it takes an instant",
    ],
    [
      { databaseSnapshot: "not a name" },
      "carillon:databaseSnapshot: it takes the name or the ARN of a snapshot",
    ],
  ];
  for (const [settings, message] of refused) expect(() => synthesised(settings)).toThrow(message);
});

test("A stopped deployment changes only whether ticks, workers and the queue of commands are started", () => {
  for (const tickBy of ["rule", "scheduler"]) {
    const { [ResourceImpact.WILL_UPDATE]: updated = [], ...others } = changes(
      { tickBy },
      { tickBy, stopped: true },
    );
    expect(others).toEqual({});
    expect(updated.map((each) => each.split(" ")[0]).toSorted()).toEqual(
      [
        tickBy === "rule" ? "AWS::Events::Rule" : "AWS::Scheduler::Schedule",
        ...Array.from({ length: 3 }, () => "AWS::Lambda::EventSourceMapping"),
      ].toSorted(),
    );
  }
  for (const stopped of [true, false]) {
    const { template, ofType } = synthesised({ stopped });
    for (const [, { Properties }] of ofType("AWS::Lambda::EventSourceMapping"))
      expect(Properties).toMatchObject({ Enabled: !stopped });
    template.hasResourceProperties("AWS::Events::Rule", { State: stopped ? "DISABLED" : "ENABLED" });
  }
});

test("A copy of the backups in another region changes the instance in place, and needs a key of that region", () => {
  const copied = {
    databaseBackupRegion: "eu-west-1",
    databaseBackupRegionKeyArn: "arn:aws:kms:eu-west-1:123456789012:key/11111111-0000-0000-0000-000000000000",
  };
  expect(changes({}, copied)).toEqual({
    [ResourceImpact.WILL_UPDATE]: ["AWS::RDS::DBInstance DatabaseInstanceAA8A5FDE"],
  });
  expect(databaseOf(copied)).toMatchObject({
    AutomaticBackupReplicationRegion: copied.databaseBackupRegion,
    AutomaticBackupReplicationKmsKeyId: copied.databaseBackupRegionKeyArn,
  });
  for (const [name, value] of Object.entries(copied))
    expect(() => synthesised({ [name]: value })).toThrow(
      "databaseBackupRegion: a copy of encrypted backups needs",
    );
  expect(() => synthesised({ database: "aurora", ...copied })).toThrow("it is only for database rds");
});
