import { App } from "aws-cdk-lib";
import { CarillonStack } from "./carillon-stack.ts";
import { settingsFrom, stackNameFrom } from "./settings.ts";

const app = new App();
// No account and no region: the template is the same for every environment, and synthesis makes no
// lookups.
new CarillonStack(app, stackNameFrom(app.node), settingsFrom(app.node));
