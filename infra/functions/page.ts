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
  readonly settings: ApiSettings;
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

const TIMEOUT = Duration.seconds(functionTimeoutSeconds.page);
const builder = path.join(packageRoot, "infra", "tools", "package", "write-page.ts");

/**
 * Whether the stack has the page. The page signs in with a token, or with an issuer that knows it as
 * a client, and sends neither signatures nor API keys.
 */
export function hasPage({ page, apiAuth, apiKeyNames, pageClientId }: ApiSettings): boolean {
  const signsIn = apiAuth === "token" || (apiAuth === "jwt" && pageClientId !== undefined);
  return page && signsIn && apiKeyNames.length === 0;
}

/**
 * The function that serves the page. It is outside of the network, has no login to the database,
 * and its role may only write its log: what it sends is the same for every reader.
 */
export class Page extends Construct {
  readonly fn: CarillonFunction;

  constructor(scope: Construct, id: string, { code, logRetention, settings }: PageProps) {
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
    const variables = { PAGE_DIRECTORY: "/var/task/page", ...signInVariables(settings) };
    for (const [name, value] of Object.entries(variables)) this.fn.addEnvironment(name, value);
  }
}

/** The variables that tell the page's function where its readers sign in. None holds a secret. */
function signInVariables(settings: ApiSettings): Record<string, string> {
  const { apiJwtIssuer, apiJwtScopePrefix, pageClientId, pageScopes } = settings;
  if (apiJwtIssuer === undefined || pageClientId === undefined) return {};
  const scopes = pageScopes.length > 0 ? pageScopes : ["openid", `${apiJwtScopePrefix}read`];
  return {
    PAGE_ISSUER: apiJwtIssuer,
    PAGE_CLIENT_ID: pageClientId,
    PAGE_SCOPES: scopes.join(" "),
    ...listVariable("PAGE_SIGN_IN_PARAMETERS", settings.pageSignInParameters),
    ...listVariable("PAGE_CONNECT_ORIGINS", settings.pageConnectOrigins),
  };
}

function listVariable(name: string, list: readonly string[]): Record<string, string> {
  return list.length === 0 ? {} : { [name]: list.join(" ") };
}
