import type { IVpc } from "aws-cdk-lib/aws-ec2";
import { checkConnectionBudget } from "./database/connection-budget.ts";
import { checkDatabaseSettings } from "./database/database-settings.ts";
import type { CarillonResources } from "./parts.ts";
import { withResources } from "./resources.ts";
import type { GivenSettings } from "./settings/given.ts";
import { checkedSettings, type Settings } from "./settings.ts";

/** All settings of an app. Refuses those that do not fit together. */
export function appSettings(given: GivenSettings & CarillonResources, vpc: IVpc | undefined): Settings {
  const settings = checkedSettings(withResources(given));
  checkDatabaseSettings(settings, vpc !== undefined || settings.vpcId !== undefined);
  checkConnectionBudget(settings);
  return settings;
}
