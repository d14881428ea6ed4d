import { fileURLToPath } from "node:url";
import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Carillon } from "../../../infra/carillon.ts";
import { Schedule } from "../../../infra/schedule/schedule.ts";
import { synthesised } from "../synthesised.ts";
import { variants } from "../variants.ts";

/** The settings of a deployment. Null: that in an app, which is written in code. */
export type DeploymentSettings = Readonly<Record<string, unknown>> | null;

const repository = fileURLToPath(new URL("../../../", import.meta.url));
const inRepository = "REPOSITORY/";

/** The deployments that a release is compared in, by their names. */
export function deployments(): Record<string, DeploymentSettings> {
  const written: unknown = JSON.parse(
    JSON.stringify({ ...variants, "in an app of its own": null }),
    moved(repository, inRepository),
  );
  return written as Record<string, DeploymentSettings>;
}

/** The template of this version with the settings of a deployment. */
export function templateOf(name: string, settings: DeploymentSettings): unknown {
  try {
    if (settings === null) return inApp();
    const here = JSON.parse(JSON.stringify(settings), moved(inRepository, repository));
    return synthesised(here).template.toJSON();
  } catch (cause) {
    throw new Error(`${name}: this version does not take the settings of the release.`, { cause });
  }
}

/** Paths in a released file begin at the repository, wherever that is. */
function moved(from: string, to: string) {
  return (_name: string, value: unknown) =>
    typeof value === "string" && value.startsWith(from) ? `${to}${value.slice(from.length)}` : value;
}

function inApp(): unknown {
  const stack = new Stack(new App({ context: { "aws:cdk:bundling-stacks": [] } }), "Shop");
  const carillon = new Carillon(stack, "Carillon");
  new Schedule(stack, "Weekly", {
    carillon,
    key: "report:weekly",
    when: "0 9 * * MON",
    timezone: "Europe/Berlin",
    target: { queue: "carillon-target-reports" },
  });
  return Template.fromStack(stack).toJSON();
}
