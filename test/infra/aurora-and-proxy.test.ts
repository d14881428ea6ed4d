import { Match } from "aws-cdk-lib/assertions";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { functionRoles } from "../../lib/db/migrate/iam-logins.ts";
import { idIn, type Resource, type Synthesised, synthesised } from "./synthesised.ts";

const environment = z.object({ Variables: z.record(z.string(), z.unknown()) });

let stack: Synthesised;
beforeAll(() => {
  stack = synthesised({ database: "aurora", databaseProxy: true, archiveBucket: "ledger" });
});

function only(from: Synthesised, type: string): { id: string; properties: Record<string, unknown> } {
  const [[id, { Properties: properties }] = ["", { Properties: {} }], ...others] = from.ofType(type);
  expect([id === "", others]).toEqual([false, []]);
  return { id, properties };
}

function toldOf(from: Synthesised, variable: string): Record<string, unknown>[] {
  return from
    .ofType("AWS::Lambda::Function")
    .map(([, { Properties }]) => environment.safeParse(Properties["Environment"]).data?.Variables ?? {})
    .filter((variables) => variable in variables);
}

function migrationOf(from: Synthesised): Resource {
  const [[, migration] = [], ...others] = from.ofType("Custom::CarillonMigration");
  expect(others).toEqual([]);
  if (migration === undefined) throw new Error("There is no migration.");
  return migration;
}

const policy = z.object({ Statement: z.array(z.object({ Action: z.unknown(), Resource: z.unknown() })) });

/** The rights to connect: the function, the database, and the user. */
function mayConnect(from: Synthesised): { to: string; on: string; user: string | undefined }[] {
  return from.ofType("AWS::IAM::Policy").flatMap(([to, { Properties }]) =>
    policy
      .parse(Properties["PolicyDocument"])
      .Statement.filter(({ Action }) => Action === "rds-db:connect")
      .flatMap(({ Resource }): unknown[] => (Array.isArray(Resource) ? Resource : [Resource]))
      .map((resource) => {
        const on = JSON.stringify(resource);
        return { to, on, user: /\/(\w+)"/.exec(on)?.[1] };
      }),
  );
}

describe("an Aurora cluster", () => {
  test("an Aurora cluster is encrypted, closed and backed up, and is deleted only with a snapshot, like an instance", () => {
    stack.template.hasResource("AWS::RDS::DBCluster", {
      DeletionPolicy: "Snapshot",
      Properties: {
        Engine: "aurora-postgresql",
        EngineVersion: "18",
        StorageEncrypted: true,
        DeletionProtection: true,
        BackupRetentionPeriod: 7,
        CopyTagsToSnapshot: true,
        EnableIAMDatabaseAuthentication: true,
        ManageMasterUserPassword: true,
        DatabaseName: "carillon",
        ServerlessV2ScalingConfiguration: { MinCapacity: 0.5, MaxCapacity: 4 },
      },
    });
    stack.template.resourceCountIs("AWS::RDS::DBInstance", 1);
    stack.template.hasResourceProperties("AWS::RDS::DBInstance", {
      DBInstanceClass: "db.serverless",
      PubliclyAccessible: false,
    });
  });

  test("an Aurora cluster has the parameters of an instance, with connections by its largest capacity", () => {
    const { id, properties } = only(stack, "AWS::RDS::DBClusterParameterGroup");
    const ofInstance = only(synthesised(), "AWS::RDS::DBParameterGroup");
    expect(properties["Parameters"]).toEqual({
      ...Object(ofInstance.properties["Parameters"]),
      max_connections: "800",
    });
    // CloudFormation cannot change a resource's type, so a setting alone cannot replace a database
    // that has data by an empty one.
    expect(id).toBe(ofInstance.id);
    expect(only(stack, "AWS::RDS::DBCluster").properties["DBClusterParameterGroupName"]).toEqual({
      Ref: only(stack, "AWS::RDS::DBClusterParameterGroup").id,
    });
  });

  test("the migration waits for an instance of the Aurora cluster, not only for its address", () => {
    const { DependsOn } = migrationOf(stack);
    for (const type of ["AWS::RDS::DBInstance", "AWS::RDS::DBProxyTargetGroup"])
      expect(DependsOn).toContain(only(stack, type).id);
  });

  test("a highly available Aurora cluster has a standby of the writer's size", () => {
    const available = synthesised({ database: "aurora", highlyAvailable: true });
    const tiers = available
      .ofType("AWS::RDS::DBInstance")
      .map(([, each]) => each.Properties["PromotionTier"]);
    expect(tiers.toSorted()).toEqual([0, 1]);
  });

  test("an Aurora cluster is monitored for its capacity, and not for its storage, which has no fixed limit", () => {
    const watched = stack
      .ofType("AWS::CloudWatch::Alarm")
      .map(([, { Properties }]) => Properties)
      .filter(({ Dimensions }) => JSON.stringify(Dimensions ?? []).includes("DBClusterIdentifier"))
      .map(({ MetricName }) => MetricName);
    expect(watched.toSorted()).toEqual([
      "ACUUtilization",
      "CPUUtilization",
      "DatabaseConnections",
      "MaximumUsedTransactionIDs",
    ]);
    expect(JSON.stringify(only(stack, "AWS::CloudWatch::Dashboard"))).not.toContain("FreeStorageSpace");
  });

  test("an Aurora cluster with an impossible capacity or with settings of an instance is refused", () => {
    const aurora = (settings: Record<string, unknown>) => () =>
      synthesised({ database: "aurora", ...settings });
    expect(aurora({ databaseCapacityMin: 0 })).toThrow("carillon:databaseCapacityMin: it takes a number");
    expect(aurora({ databaseCapacityMax: 4.2 })).toThrow("in halves");
    expect(aurora({ databaseCapacityMin: 8 })).toThrow("it must not exceed databaseCapacityMax");
    expect(aurora({ databaseClass: "r8g.large" })).toThrow("databaseClass: it is only for database rds");
    expect(() => synthesised({ databaseCapacityMax: 8 })).toThrow(
      "databaseCapacityMax: it is only for database aurora",
    );
  });
});

describe("RDS Proxy", () => {
  test("RDS Proxy admits functions by IAM only, over TLS, connects to the database by IAM, and has no secret", () => {
    const { properties } = only(stack, "AWS::RDS::DBProxy");
    expect(properties).toMatchObject({
      DefaultAuthScheme: "IAM_AUTH",
      RequireTLS: true,
      EngineFamily: "POSTGRESQL",
    });
    expect(properties).not.toHaveProperty("Auth");
    expect(Number(properties["IdleClientTimeout"])).toBeGreaterThan(30);
  });

  test("each function may connect to the proxy as its own user, and only the proxy may connect to the database as these users", () => {
    const proxy = only(stack, "AWS::RDS::DBProxy").id;
    const cluster = only(stack, "AWS::RDS::DBCluster").id;
    const ofProxy = mayConnect(stack).filter(({ to }) => to.startsWith("DatabaseProxyRole"));
    const ofFunctions = mayConnect(stack).filter(({ to }) => !to.startsWith("DatabaseProxyRole"));
    expect(ofProxy.map(({ user }) => user).toSorted()).toEqual([...functionRoles].toSorted());
    for (const { on } of ofProxy) expect(on).toContain(`["${cluster}","DBClusterResourceId"]`);
    expect(ofFunctions.map(({ user }) => user).toSorted()).toEqual([...functionRoles].toSorted());
    for (const { on } of ofFunctions) expect(on).toContain(`["${proxy}","DBProxyArn"]`);
  });

  test("functions get the address of the proxy, and the migration gets the database's and learns that there is a proxy", () => {
    const proxy = only(stack, "AWS::RDS::DBProxy").id;
    const users = toldOf(stack, "DATABASE_USER");
    expect(users).toHaveLength(6);
    for (const told of users)
      expect(told).toMatchObject({
        DATABASE_HOST: { "Fn::GetAtt": [proxy, "Endpoint"] },
        DATABASE_PORT: "5432",
      });
    const [migration] = toldOf(stack, "DATABASE_SECRET_ARN");
    expect(idIn(migration?.["DATABASE_HOST"])).toBe(only(stack, "AWS::RDS::DBCluster").id);
    expect(migration?.["DATABASE_PROXY"]).toBe("true");
    expect(toldOf(synthesised(), "DATABASE_PROXY")).toEqual([]);
  });

  test("functions prepare statements by name except behind the proxy, and the migration gets no such setting", () => {
    const told = (from: Synthesised) =>
      toldOf(from, "DATABASE_HOST").map(({ DATABASE_USER: user, DATABASE_PREPARE: prepare }) => [
        user,
        prepare,
      ]);
    const expected = (prepare: string, roles: readonly string[]) =>
      [...roles.map((role) => [role, prepare]), [undefined, undefined]].toSorted();
    // The archive's function exists only with a bucket.
    const withoutArchive = functionRoles.filter((role) => role !== "carillon_archive");
    expect(told(stack).toSorted()).toEqual(expected("off", functionRoles));
    expect(told(synthesised()).toSorted()).toEqual(expected("on", withoutArchive));
    expect(told(synthesised({ databasePrepare: "false" })).toSorted()).toEqual(
      expected("off", withoutArchive),
    );
    expect(() => synthesised({ databaseProxy: true, databasePrepare: true })).toThrow(
      "databasePrepare: statements prepared by name pin the connections of databaseProxy",
    );
  });

  test("security groups allow traffic from the functions to the proxy, and from the proxy to the database", () => {
    const ways = stack.ofType("AWS::EC2::SecurityGroupIngress").map(([, { Properties }]) => {
      const short = (group: unknown) => idIn(group).replace(/^Network(\w+?)[0-9A-F]{8}$/, "$1");
      return `${short(Properties["SourceSecurityGroupId"])} → ${short(Properties["GroupId"])}`;
    });
    expect(ways.toSorted()).toEqual([
      "Functions → Database",
      "Functions → Endpoints",
      "Functions → Proxy",
      "Proxy → Database",
    ]);
  });

  test("the proxy leaves connections to the migration and to engineers, and its wait for a connection is shorter than any function's timeout", () => {
    const { properties } = only(stack, "AWS::RDS::DBProxyTargetGroup");
    const pool = z
      .object({ MaxConnectionsPercent: z.number(), ConnectionBorrowTimeout: z.number() })
      .parse(properties["ConnectionPoolConfigurationInfo"]);
    expect(Math.ceil((800 * pool.MaxConnectionsPercent) / 100)).toBeLessThanOrEqual(800 - 10 - 1);
    expect(pool.ConnectionBorrowTimeout).toBeLessThan(29);
  });

  test("the proxy raises an alarm when it cannot share its connections", () => {
    stack.template.hasResourceProperties("AWS::CloudWatch::Alarm", {
      Namespace: "AWS/RDS",
      MetricName: "DatabaseConnectionsCurrentlySessionPinned",
      Dimensions: [{ Name: "ProxyName", Value: { Ref: only(stack, "AWS::RDS::DBProxy").id } }],
      Threshold: 320,
    });
  });

  test("the proxy's name is lower-case, as RDS spells it in its log and its metrics", () => {
    const name = z.string().parse(only(stack, "AWS::RDS::DBProxy").properties["DBProxyName"]);
    expect(name).toMatch(/^[a-z][a-z0-9]{0,59}$/);
    stack.template.hasResourceProperties("AWS::Logs::LogGroup", { LogGroupName: `/aws/rds/proxy/${name}` });
  });

  test("the proxy works for an instance as well, and lets more functions run at once than the database has connections", () => {
    const busy = { apiRequestBurst: 300, fastConcurrency: 40 };
    expect(() => synthesised(busy)).toThrow("has 190 for them");
    const proxied = synthesised({ ...busy, databaseProxy: true, databaseMaxConnections: 80 });
    const instance = only(proxied, "AWS::RDS::DBInstance").id;
    proxied.template.hasResourceProperties("AWS::RDS::DBProxyTargetGroup", {
      DBInstanceIdentifiers: [{ Ref: instance }],
    });
    const onInstance = mayConnect(proxied).filter(({ on }) => on.includes("DbiResourceId"));
    expect(new Set(onInstance.map(({ to }) => to)).size).toBe(1);
    proxied.template.hasResourceProperties("AWS::Logs::LogGroup", {
      LogGroupName: Match.stringLikeRegexp("^/aws/rds/proxy/"),
      RetentionInDays: 30,
    });
  });

  test("a proxy is refused when handlers' transactions could hold more than half of its connections", () => {
    expect(() =>
      synthesised({ databaseProxy: true, databaseMaxConnections: 100, slowConcurrency: 22 }),
    ).not.toThrow();
    expect(() =>
      synthesised({ databaseProxy: true, databaseMaxConnections: 100, slowConcurrency: 23 }),
    ).toThrow(
      "Handlers may hold 46 database connections at once in their own transactions, more than half of the 89",
    );
  });
});
