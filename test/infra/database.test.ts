import { describe, expect, test } from "vitest";
import {
  type BudgetSettings,
  connectionsAtMost,
  maxConnections,
} from "../../infra/database/connection-budget.ts";
import { defaultSettings } from "../../infra/settings.ts";
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
    expect(told({})).toEqual({ fastConcurrency, slowConcurrency, others: 2 * 3 + 2 * 2 + 1 + 10 });
    expect(told({ slowConcurrency: 3, tickShards: 2 })).toMatchObject({ slowConcurrency: 3, others: 27 });
    expect(told({ databaseProxy: true })).toBeUndefined();
  });

  test("the connection budget is the setting, else the number that the class's memory allows, within RDS's limit", () => {
    expect(takenBy({ databaseClass: "t4g.micro" })).toBe(100);
    expect(takenBy({ databaseClass: "t4g.small" })).toBe(200);
    expect(takenBy({ databaseClass: "m8g.large" })).toBe(800);
    expect(takenBy({ databaseClass: "r8g.xlarge" })).toBe(3_200);
    expect(takenBy({ databaseClass: "r6gd.16xlarge" })).toBe(5_000);
    expect(takenBy({ databaseClass: "x2iedn.xlarge", databaseMaxConnections: 900 })).toBe(900);
    expect(() => takenBy({ databaseClass: "x2iedn.xlarge" })).toThrow("set databaseMaxConnections");
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
    expect(told({})).toMatchObject({ max_connections: "100" });
    expect(told({ databaseClass: "t4g.medium" })).toMatchObject({ max_connections: "400" });
  });

  test("settings that exceed the connection budget are refused at synth, with the settings to change", () => {
    const spare = 90 - connectionsAtMost(defaultSettings);
    const burst = defaultSettings.apiRequestBurst + spare;
    expect(() => synthesised({ apiRequestBurst: burst })).not.toThrow();
    expect(() => synthesised({ apiRequestBurst: burst + 1 })).toThrow(
      /may need 91 database connections at once, and the database has 90 for them\. Lower slowConcurrency/,
    );
    expect(() => synthesised({ apiRequestBurst: burst + 1, databaseClass: "t4g.small" })).not.toThrow();
    expect(() => synthesised({ databaseMaxConnections: 60 })).toThrow("has 50 for them");
  });
});

test("a forgotten transaction of an engineer is ended before it blocks the vacuum of busy tables", () => {
  synthesised().template.hasResourceProperties("AWS::RDS::DBParameterGroup", {
    Parameters: { idle_in_transaction_session_timeout: "300000" },
  });
});
