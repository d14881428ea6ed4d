import { applyCommand } from "../apply/apply-command.ts";
import type { Command } from "../command.ts";
import { doctorCommand } from "../doctor/doctor-command.ts";
import { moveCommand } from "../move/move-command.ts";
import { quotasCommand } from "../quotas/quotas-command.ts";
import { agendaCommands } from "./agenda-commands.ts";
import { auditCommands } from "./audit-command.ts";
import { calendarCommands } from "./calendar-commands.ts";
import { credentialsCommand } from "./credentials-command.ts";
import { devCommand } from "./dev-command.ts";
import { editCommands } from "./edit-commands.ts";
import { errorCommands } from "./error-commands.ts";
import { forecastCommands } from "./forecast-command.ts";
import { groupCommands } from "./group-command.ts";
import { holdCommands } from "./hold-command.ts";
import { importCommand } from "./import-command.ts";
import { jobCommands } from "./job-commands.ts";
import { mcpCommand } from "./mcp-command.ts";
import { outageCommands } from "./outages-command.ts";
import { quarantineCommand } from "./quarantine-command.ts";
import { queueCommands } from "./queue-commands.ts";
import { runCommands } from "./run-commands.ts";
import { scheduleCommands } from "./schedule-commands.ts";
import { seriesCommand } from "./series-command.ts";
import { statsCommands } from "./stats-commands.ts";
import { statusCommand } from "./status-command.ts";
import { tailCommands } from "./tail-command.ts";
import { timeCommands } from "./time-commands.ts";
import { tokenCommands } from "./token-command.ts";

/** Every command, for the parser, the help and docs/cli.md. */
export const commandTable: readonly Command[] = [
  devCommand,
  doctorCommand,
  ...scheduleCommands,
  ...editCommands,
  importCommand,
  applyCommand,
  ...timeCommands,
  ...agendaCommands,
  ...jobCommands,
  ...errorCommands,
  ...runCommands,
  ...groupCommands,
  ...calendarCommands,
  statusCommand,
  ...statsCommands,
  ...forecastCommands,
  ...holdCommands,
  seriesCommand,
  ...auditCommands,
  ...tailCommands,
  ...queueCommands,
  quarantineCommand,
  ...outageCommands,
  ...tokenCommands,
  quotasCommand,
  credentialsCommand,
  moveCommand,
  mcpCommand,
];
