import { codeParameters } from "../../../infra/tools/template/code-synthesizer.ts";
import { apiParameters } from "../../../infra/tools/template/parameters/api.ts";
import { databaseParameters } from "../../../infra/tools/template/parameters/database.ts";
import { networkParameters } from "../../../infra/tools/template/parameters/network.ts";
import { operationsParameters } from "../../../infra/tools/template/parameters/operations.ts";
import { targetsParameters } from "../../../infra/tools/template/parameters/targets.ts";
import { workParameters } from "../../../infra/tools/template/parameters/work.ts";

const ofSettings = [
  ...networkParameters,
  ...databaseParameters,
  ...workParameters,
  ...apiParameters,
  ...targetsParameters,
  ...operationsParameters,
];

/** The names that a deployment of a plain template gives; a variable of the Terraform module has the same. */
export const plainParameters: readonly string[] = [
  ...codeParameters,
  ...ofSettings.map(({ name }) => name),
].toSorted();
