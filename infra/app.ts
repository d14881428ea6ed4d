import { App } from "aws-cdk-lib";
import { CarillonStack } from "./carillon-stack.ts";
import { settingsFrom } from "./settings.ts";

const app = new App();
// No account and no region: the same template for every environment, and a synthesis that asks nobody.
new CarillonStack(app, "Carillon", settingsFrom(app.node));
