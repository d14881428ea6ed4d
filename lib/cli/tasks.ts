import type { Command, CommandGroup } from "./command.ts";

/** A task of an engineer, and the commands for it. */
export interface Task {
  /** The word behind `carillon help`. */
  topic: string;
  title: string;
  /** The most used first; commands that are not named follow by their group. */
  commands: readonly string[];
}

export const tasks: readonly Task[] = [
  {
    topic: "health",
    title: "Is it on time? What is wrong?",
    commands: ["status", "stats", "series", "errors", "outages", "tail", "quarantine", "commands", "inbox"],
  },
  {
    topic: "why",
    title: "Why did it run late, or not at all? Who changed it?",
    commands: ["explain", "jobs", "job", "strip", "versions", "audit"],
  },
  {
    topic: "coming",
    title: "What runs, and when?",
    commands: ["agenda", "next", "ls", "get", "preview", "forecast"],
  },
  {
    topic: "stop",
    title: "Stop runs, and go on",
    commands: ["pause", "resume", "holds", "cancel", "rm"],
  },
  { topic: "local", title: "On your own machine", commands: ["dev", "doctor"] },
  { topic: "again", title: "Run again, or now", commands: ["retry", "fire", "backfill", "enqueue"] },
  {
    topic: "define",
    title: "Create and change schedules",
    commands: ["put", "patch", "restore", "apply", "import"],
  },
  {
    topic: "shared",
    title: "Groups, calendars, limits of targets",
    commands: ["group", "calendar", "limit"],
  },
  { topic: "elsewhere", title: "Another installation", commands: ["move"] },
  { topic: "access", title: "Tokens, and agents", commands: ["whoami", "token", "mcp"] },
];

const topicOfGroup: Readonly<Record<CommandGroup, string>> = {
  Local: "local",
  Schedules: "define",
  Time: "coming",
  Jobs: "again",
  "Groups, calendars, limits": "shared",
  Operation: "health",
};

/** The commands of a task, in its order. */
export function commandsOf(task: Task, table: readonly Command[]): Command[] {
  const named = task.commands.flatMap((name) => table.filter((command) => command.name === name));
  const isNamed = (name: string) => tasks.some(({ commands }) => commands.includes(name));
  const others = table.filter(({ name, group }) => !isNamed(name) && topicOfGroup[group] === task.topic);
  return [...named, ...others];
}

/** Questions of an engineer on call, each with the command that answers it. */
export const questions: readonly (readonly [string, string])[] = [
  ["Is it on time? What is wrong?", "carillon status"],
  ["Which jobs failed, and why?", 'carillon errors --from "2h ago"'],
  ["Retry these", "carillon retry --error-group 5d1c0e7a94b2 --dry-run"],
  [
    "Why did it not run, or run late?",
    'carillon explain report:weekly --at "2026-11-23 09:00" --timezone Europe/Berlin',
  ],
  ["Where was the time lost?", "carillon outages"],
  ["Since when is it slow?", "carillon series --last 6h"],
  ["What runs on Monday at nine?", 'carillon agenda "Mon 08:55..09:05" --timezone Europe/Berlin'],
  ["How heavy are the next hours?", "carillon forecast --minutes 240"],
  ["Who changed it?", "carillon versions report:weekly"],
  ["Put the old version back", "carillon restore report:weekly 1 --dry-run"],
  ["Stop it for now", 'carillon pause --prefix crm: --until "in 2h" --reason "the CRM is down"'],
  ["What is on hold, and why?", "carillon holds"],
  ["What may my token do?", "carillon whoami"],
];

/** Words that people try, and the commands that they mean. */
export const synonyms: Readonly<Record<string, string>> = {
  list: "ls",
  show: "get",
  delete: "rm",
  remove: "rm",
  create: "put",
  edit: "patch",
  update: "patch",
  run: "fire",
  trigger: "fire",
  stop: "pause",
  hold: "pause",
  release: "resume",
  history: "jobs",
  failed: "errors",
  dead: "jobs",
  logs: "tail",
  watch: "tail",
  health: "status",
  why: "explain",
  load: "forecast",
  undo: "restore",
};
