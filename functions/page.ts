import path from "node:path";
import type { GatewayEvent } from "../lib/api/request/incoming.ts";
import type { Environment } from "../lib/config/environment.ts";
import { type Assembled, onDemand } from "../lib/config/function.ts";
import { readPageFiles } from "../lib/site/page-files.ts";
import { connectOrigins, signInFrom } from "../lib/site/page-sign-in.ts";
import { makePage, type PageResponse } from "../lib/site/serve-page.ts";

/** The page as `npm start` builds it. */
const built = path.join(import.meta.dirname, "..", "dist", "page");

/** Serves the page's files. The function has no database, no network and no rights. */
export function assemble(env: Environment): Assembled<GatewayEvent, PageResponse> {
  const files = readPageFiles(env["PAGE_DIRECTORY"] ?? built);
  const signIn = signInFrom(env);
  const name = env["PAGE_NAME"] || undefined;
  const logsLink = env["PAGE_LOGS_LINK"] || undefined;
  const answer = makePage(files, { connect: connectOrigins(env, signIn), name, signIn, logsLink });
  return { handler: async (event) => answer(event), close: async () => {} };
}

export const handler = onDemand(assemble);
