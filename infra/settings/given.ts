import type { ApiOptions } from "./options/api.ts";
import type { DatabaseOptions } from "./options/database.ts";
import type { KeysOptions } from "./options/keys.ts";
import type { NetworkOptions } from "./options/network.ts";
import type { OperationsOptions } from "./options/operations.ts";
import type { RetentionOptions } from "./options/retention.ts";
import type { TargetsOptions } from "./options/targets.ts";
import type { WorkOptions } from "./options/work.ts";

/** The settings that an app passes in code; each has a default. */
export interface GivenSettings
  extends ApiOptions,
    DatabaseOptions,
    KeysOptions,
    NetworkOptions,
    OperationsOptions,
    RetentionOptions,
    TargetsOptions,
    WorkOptions {}
