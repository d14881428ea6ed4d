import path from "node:path";
import { Duration } from "aws-cdk-lib";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { functionTimeoutSeconds } from "../../lib/config/function-limits.ts";
import { packageRoot } from "../package-root.ts";
import type { ApiSettings } from "../settings/api.ts";
import { CarillonFunction } from "./carillon-function.ts";
import type { FunctionCode } from "./function-code.ts";

export interface PageProps {
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

const TIMEOUT = Duration.seconds(functionTimeoutSeconds.page);
const builder = path.join(packageRoot, "infra", "tools", "package", "write-page.ts");

/**
 * Whether the stack has the page. The page signs in with a token only, and sends neither
 * signatures nor API keys.
 */
export function hasPage({ page, apiAuth, apiKeyNames }: ApiSettings): boolean {
  return page && apiAuth === "token" && apiKeyNames.length === 0;
}

/**
 * The function that serves the page. It is outside of the network, has no login to the database,
 * and its role may only write its log: what it sends is the same for every reader.
 */
export class Page extends Construct {
  readonly fn: CarillonFunction;

  constructor(scope: Construct, id: string, { code, logRetention }: PageProps) {
    super(scope, id);
    this.fn = new CarillonFunction(this, "Function", {
      entry: "page",
      code,
      description: "Carillon: serves the page",
      timeout: TIMEOUT,
      // It answers from memory. With less, it starts slowly.
      memoryMiB: 256,
      logRetention,
      commandHooks: {
        beforeBundling: () => [],
        beforeInstall: () => [],
        afterBundling: (_input, output) => [`"${process.execPath}" "${builder}" "${output}"`],
      },
    });
    this.fn.addEnvironment("PAGE_DIRECTORY", "/var/task/page");
  }
}
