import { App, CfnOutput, Stack } from "aws-cdk-lib";
import { Carillon, Schedule } from "carillon-cdk";
import { schedules } from "../carillon/schedules.ts";

const stack = new Stack(new App(), "carillon-app");
const carillon = new Carillon(stack, "Carillon", {
  handlersEntry: "carillon/handlers.ts",
  metricsNamespace: "carillon-app",
});
for (const schedule of schedules) new Schedule(stack, schedule.key, { carillon, ...schedule });

new CfnOutput(stack, "ApiUrl", { value: carillon.url });
new CfnOutput(stack, "AdminTokenSecret", { value: carillon.adminToken.secretArn });
