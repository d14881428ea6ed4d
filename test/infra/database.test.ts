import { describe, expect, test } from "vitest";
import {
  type BudgetSettings,
  checkConnectionBudget,
  maxConnections,
} from "../../infra/database/connection-budget.ts";
import { connectionsAtMost } from "../../infra/database/functions-at-once.ts";
import { defaultSettings, type Settings } from "../../infra/settings.ts";
import { functionConnections } from "../../lib/config/function-connections.ts";
import { tickDefaults } from "../../lib/tick/tick.ts";
import { synthesised } from "./synthesised.ts";

const takenBy = (settings: Partial<BudgetSettings>) => maxConnections({ ...defaultSettings, ...settings });

describe("the connection budget", () => {
  test("the connection budget counts the connections of each function at its highest concurrency", () => {
    const none = {
      tickShards: 1,
      fastConcurrency: 0,
      slowConcurrency: 0,
      ingestConcurrency: 0,
      apiRequestBurst: 0,
    };
    const always = connectionsAtMost(none);
    expect(always).toBe(2 * functionConnections.tick + functionConnections.migration);
    expect(connectionsAtMost({ ...none, tickShards: 3 }) - always).toBe(2 * 2 * functionConnections.tick);
    expect(connectionsAtMost({ ...none, fastConcurrency: 5 }) - always).toBe(10);
    expect(connectionsAtMost({ ...none, slowConcurrency: 5 }) - always).toBe(20);
    expect(connectionsAtMost({ ...none, ingestConcurrency: 5 }) - always).toBe(10);
    expect(connectionsAtMost({ ...none, apiRequestBurst: 5 }) - always).toBe(5);
    expect(functionConnections.tick).toBe(tickDefaults.lanes + 1);
  });

  test("the migration learns how many connections the API must leave, except behind a proxy", () => {
    const told = (settings: Record<string, unknown>) =>
      synthesised(settings).ofType("Custom::CarillonMigration")[0]?.[1].Properties["connections"];
    const { fastConcurrency, slowConcurrency } = defaultSettings;
    // Twice the tick's connections, the ingest's and the migration's, and ten that no function takes.
    const others = 2 * 3 + 2 * 2 + 1 + 10;
    expect(told({})).toEqual({ fastConcurrency, slowConcurrency, others, apiMost: 32 });
    expect(told({ slowConcurrency: 3, tickShards: 2 })).toMatchObject({ slowConcurrency: 3, others: 27 });
    expect(told({ databaseProxy: true })).toBeUndefined();
    // Half of the memory for connections, unless the settings allow more requests at once.
    expect(told({ databaseClass: "t4g.medium" })).toMatchObject({ apiMost: 80 });
    expect(told({ databaseClass: "t4g.medium", apiRequestBurst: 90 })).toMatchObject({ apiMost: 90 });
    expect(told({ database: "aurora" })).not.toHaveProperty("apiMost");
  });

  test("the connection budget is the setting, else the number that the class's memory allows, within RDS's limit", () => {
    expect(takenBy({ databaseClass: "t4g.micro" })).toBe(100);
    expect(takenBy({ databaseClass: "t4g.small" })).toBe(200);
    expect(takenBy({ databaseClass: "m8g.large" })).toBe(800);
    expect(takenBy({ databaseClass: "r8g.xlarge" })).toBe(3_200);
    expect(takenBy({ databaseClass: "r6gd.16xlarge" })).toBe(5_000);
    expect(takenBy({ databaseClass: "x2iedn.xlarge", databaseMaxConnections: 900 })).toBe(900);
    expect(() => takenBy({ databaseClass: "x2iedn.xlarge" })).toThrow("set databaseMaxConnections");
    expect(() => takenBy({ database: "existing" })).toThrow("databaseMaxConnections");
    expect(takenBy({ database: "external", databaseMaxConnections: 400 })).toBe(400);
  });

  test("the connection budget of an Aurora cluster follows its largest memory, and is capped where the cluster may become tiny", () => {
    const aurora = { database: "aurora", databaseCapacityMin: 1 } as const;
    expect(takenBy({ ...aurora, databaseCapacityMax: 1 })).toBe(200);
    expect(takenBy({ ...aurora, databaseCapacityMax: 16 })).toBe(3_200);
    expect(takenBy({ ...aurora, databaseCapacityMax: 256 })).toBe(5_000);
    expect(takenBy({ ...aurora, databaseCapacityMin: 0.5, databaseCapacityMax: 256 })).toBe(2_000);
  });

  test("the database's max_connections is the connection budget", () => {
    const told = (settings: Record<string, unknown>) =>
      synthesised(settings).ofType("AWS::RDS::DBParameterGroup")[0]?.[1].Properties["Parameters"];
    expect(told({})).toMatchObject({ max_connections: "200" });
    expect(told({ databaseClass: "t4g.medium" })).toMatchObject({ max_connections: "400" });
  });

  test("settings that exceed the connection budget are refused at synth, with the settings to change", () => {
    const limited = { databaseMaxConnections: connectionsAtMost(defaultSettings) + 10 };
    const burst = defaultSettings.apiRequestBurst;
    expect(() => synthesised(limited)).not.toThrow();
    expect(() => synthesised({ ...limited, apiRequestBurst: burst + 1 })).toThrow(
      /may need 85 database connections at once, and the database has 84 for them\. Lower slowConcurrency/,
    );
    expect(() => synthesised({ apiRequestBurst: burst + 1 })).not.toThrow();
    expect(() => synthesised({ databaseMaxConnections: 60 })).toThrow("has 50 for them");
  });
});

describe("the memory budget", () => {
  const checked = (settings: Partial<Settings>) => () =>
    checkConnectionBudget({ ...defaultSettings, ...settings });
  const few = { fastConcurrency: 2, slowConcurrency: 2 };

  test("the default class has memory for the default concurrency, and the class below has it only for few functions", () => {
    expect(checked({})).not.toThrow();
    expect(checked({ databaseClass: "t4g.micro" })).toThrow(
      "The functions may need 922 MiB of memory for 84 database connections at once, and a t4g.micro has 276 MiB for them: " +
        "of its 1,024 MiB, the buffers of Postgres take 192 MiB, IAM authentication 300 MiB, and the operating system with RDS 256 MiB. " +
        "Choose a databaseClass with at least 2 GiB, or lower apiRequestBurst (16 MiB each), slowConcurrency (34 MiB each), " +
        "fastConcurrency (14 MiB each), ingestConcurrency (18 MiB each) or tickShards (78 MiB each).",
    );
    expect(checked({ databaseClass: "t4g.micro", ...few, apiRequestBurst: 3 })).not.toThrow();
    expect(checked({ databaseClass: "t4g.micro", ...few, apiRequestBurst: 4 })).toThrow("has 276 MiB");
  });

  test("concurrency that the connections allow is refused where the memory does not hold it", () => {
    const busy = { apiRequestBurst: 100 };
    expect(connectionsAtMost({ ...defaultSettings, ...busy })).toBeLessThan(190);
    expect(checked(busy)).toThrow("Choose a databaseClass with at least 4 GiB");
    expect(checked({ ...busy, databaseClass: "t4g.medium" })).not.toThrow();
  });

  test("behind a proxy the memory holds the connections that the proxy opens, and the refusal names their number", () => {
    const busy = { databaseProxy: true, apiRequestBurst: 300, fastConcurrency: 40 };
    const fitting = Number(/databaseMaxConnections to (\d+) at most/.exec(refusalOf(checked(busy)))?.[1]);
    expect(fitting).toBeGreaterThan(50);
    expect(checked({ ...busy, databaseMaxConnections: fitting })).not.toThrow();
    expect(checked({ ...busy, databaseMaxConnections: fitting + 2 })).toThrow("at most");
  });

  test("the memory of a cluster, of an unknown class and of a database made elsewhere is not judged", () => {
    const many = { apiRequestBurst: 1_500, databaseMaxConnections: 2_000 };
    expect(checked({ ...many, database: "aurora", databaseCapacityMax: 1 })).not.toThrow();
    expect(checked({ ...many, database: "external" })).not.toThrow();
    expect(checked({ ...many, databaseClass: "x2iedn.xlarge" })).not.toThrow();
    expect(checked({ ...many, databaseClass: "m7g.large" })).toThrow("m7g.large has 5,652 MiB");
  });
});

function refusalOf(run: () => void): string {
  try {
    run();
  } catch (error) {
    return String(error);
  }
  return "";
}

describe("the insight into a database", () => {
  const made = (type: string, settings: Record<string, unknown>) =>
    synthesised(settings)
      .ofType(type)
      .map(([, { Properties }]) => Properties);
  const exported = ["postgresql", "iam-db-auth-error"];

  test("RDS exports the log of Postgres and the reasons of refused logins, of an instance and of a cluster", () => {
    expect(made("AWS::RDS::DBInstance", {})).toMatchObject([{ EnableCloudwatchLogsExports: exported }]);
    expect(made("AWS::RDS::DBCluster", { database: "aurora" })).toMatchObject([
      { EnableCloudwatchLogsExports: exported },
    ]);
  });

  test("a setting leaves the export of logs out", () => {
    const [instance] = made("AWS::RDS::DBInstance", { databaseLogs: "false" });
    expect(instance).not.toHaveProperty("EnableCloudwatchLogsExports");
    expect(() => synthesised({ database: "external", databaseLogs: "false" })).toThrow(
      "databaseLogs: it is only for database rds or aurora",
    );
  });

  test("an exported log has no parameters of statements, which hold payloads and secrets", () => {
    expect(made("AWS::RDS::DBParameterGroup", {})).toMatchObject([
      { Parameters: { log_parameter_max_length: "0", log_parameter_max_length_on_error: "0" } },
    ]);
  });

  test("Performance Insights is on with the seven days that cost nothing, on the smallest class as well", () => {
    const free = { EnablePerformanceInsights: true, PerformanceInsightsRetentionPeriod: 7 };
    expect(made("AWS::RDS::DBInstance", {})).toMatchObject([free]);
    const few = { fastConcurrency: 2, slowConcurrency: 2, apiRequestBurst: 3 };
    expect(made("AWS::RDS::DBInstance", { databaseClass: "t4g.micro", ...few })).toMatchObject([free]);
  });

  test("Performance Insights is on for a cluster that stays large enough for it, and off for a smaller one", () => {
    const aurora = { database: "aurora", highlyAvailable: true };
    const on = (databaseCapacityMin: number) =>
      made("AWS::RDS::DBInstance", { ...aurora, databaseCapacityMin }).map(
        (each) => each["EnablePerformanceInsights"],
      );
    expect(on(2)).toEqual([true, true]);
    expect(on(1.5)).toEqual([undefined, undefined]);
  });
});

test("a forgotten transaction of an engineer is ended before it blocks the vacuum of busy tables", () => {
  synthesised().template.hasResourceProperties("AWS::RDS::DBParameterGroup", {
    Parameters: { idle_in_transaction_session_timeout: "300000" },
  });
});
