import { App } from "aws-cdk-lib";
import { CarillonStack } from "./carillon-stack.ts";
import { settingsFrom, stackNameFrom } from "./settings.ts";

const app = new App();
// No account and no region: the same template for every environment, and a synthesis that asks nobody.
new CarillonStack(app, stackNameFrom(app.node), settingsFrom(app.node));
