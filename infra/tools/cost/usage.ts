import { z } from "zod";
import { jobRetention } from "../../../lib/config/function-limits.ts";

const target = z.object({ Arn: z.unknown() });
const resource = z.object({ Type: z.string(), Properties: z.record(z.string(), z.unknown()).default({}) });
const template = z.object({ Resources: z.record(z.string(), resource) });
const rule = z.object({ ScheduleExpression: z.unknown(), Targets: z.array(target).default([]) });
const eachMinute = "cron(* * * * ? *)";
const fn = z.object({
  TracingConfig: z.object({ Mode: z.string() }).optional(),
  Environment: z
    .object({
      Variables: z.object({
        CANARY_MINUTES: z.coerce.number().optional(),
        RETENTION_DAYS: z.coerce.number().optional(),
      }),
    })
    .default({ Variables: {} }),
});

/** The properties of a stack that determine its usage when idle and under load. */
export interface Usage {
  readonly ticksAMinute: number;
  /** Undefined: there is no canary. */
  readonly canaryMinutes: number | undefined;
  /** How many days jobs are kept. */
  readonly daysKept: number;
  readonly traced: boolean;
  /** False: it is an HTTP API. */
  readonly restApi: boolean;
  readonly firewall: boolean;
}

/** Reads the usage from the template. */
export function usageOf(synthesised: unknown): Usage {
  const resources = Object.values(template.parse(synthesised).Resources);
  const ofType = (type: string) => resources.filter(({ Type }) => Type === type);
  const rules = ofType("AWS::Events::Rule").map(({ Properties }) => rule.parse(Properties));
  const functions = ofType("AWS::Lambda::Function").map(({ Properties }) => fn.parse(Properties));
  const byRule = rules
    .filter(({ ScheduleExpression }) => ScheduleExpression === eachMinute)
    .reduce((sum, { Targets }) => sum + Targets.length, 0);
  const numberIn = (name: "CANARY_MINUTES" | "RETENTION_DAYS") =>
    functions.map(({ Environment }) => Environment.Variables[name]).find((value) => value !== undefined);
  return {
    ticksAMinute: byRule + ofType("AWS::Scheduler::Schedule").length,
    canaryMinutes: numberIn("CANARY_MINUTES"),
    daysKept: numberIn("RETENTION_DAYS") ?? jobRetention.byDefault,
    traced: functions.some(({ TracingConfig }) => TracingConfig?.Mode === "Active"),
    restApi: ofType("AWS::ApiGateway::RestApi").length > 0,
    firewall: ofType("AWS::WAFv2::WebACLAssociation").length > 0,
  };
}
