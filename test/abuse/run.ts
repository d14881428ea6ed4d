import { parseArgs } from "node:util";
import { systemClock } from "../../lib/clock.ts";
import { diceOf, seeded } from "../race/seeded.ts";
import { abuse } from "./abuse.ts";
import { attacks } from "./attacks.ts";
import { lineOf, tableOf } from "./report.ts";
import { type AttackedStack, startAttacked } from "./stack-process.ts";
import { byDefault } from "./volumes.ts";

const numbers = Object.keys(byDefault) as (keyof typeof byDefault)[];

const help = `npm run abuse -- [options]

Starts a local stack in a temporary folder, attacks it over the loopback interface, and checks
that it answers as documented, keeps its memory, and ticks on time. CARILLON_SEED repeats a run.

  --only A,B      these attacks alone
  --seconds N     how long the attacks last that have no count (${byDefault.seconds})
  --rate N        units per second of the token that has a rate (${byDefault.rate})
  --requests N    fuzzed requests (${byDefault.requests})
  --guesses N     guessed tokens (${byDefault.guesses})
  --sockets N     slow connections (${byDefault.sockets})
  --bodies N      bodies of each kind (${byDefault.bodies})
  --schedules N   schedules that run each second (${byDefault.schedules})
  --holds N       holds, in each of three loops (${byDefault.holds})
  --actions N     bulk actions whose connection is closed (${byDefault.actions})
  --minutes N     after this an attack sends no more, and has failed (15)
  --table         also prints the table of docs/security.md

${attacks.map(({ name, does, holds }) => `  ${name.padEnd(12)}${does}.\n              ${holds}.`).join("\n")}`;

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    ...Object.fromEntries(numbers.map((name) => [name, { type: "string" as const }])),
    minutes: { type: "string", default: "15" },
    table: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const say = (text: string) => void process.stdout.write(`${text}\n`);

process.exitCode = await main();

async function main(): Promise<number> {
  const given: Readonly<Record<string, string | boolean | undefined>> = values;
  const names = values.only?.split(",") ?? attacks.map(({ name }) => name);
  const unknown = names.filter((name) => !attacks.some((attack) => attack.name === name));
  const volume = Object.fromEntries(numbers.map((name) => [name, Number(given[name] ?? byDefault[name])]));
  const counts = { ...volume, minutes: Number(values.minutes) };
  const wrong = Object.entries(counts).flatMap(([name, count]) =>
    Number.isInteger(count) && count >= 1 ? [] : [name],
  );
  for (const name of unknown) process.stderr.write(`There is no attack ${name}.\n`);
  for (const name of wrong) process.stderr.write(`--${name} takes a whole number from 1.\n`);
  if (values.help || unknown.length + wrong.length > 0) {
    process.stderr.write(`${help}\n`);
    return values.help ? 0 : 2;
  }
  return attack(names, { ...byDefault, ...volume });
}

async function attack(names: readonly string[], volume: typeof byDefault): Promise<number> {
  const seed = Number(process.env["CARILLON_SEED"] ?? Math.floor(Math.random() * 1_000_000));
  say(`seed ${seed}`);
  const stack = await startAttacked();
  endWith(stack);
  try {
    const reports = await abuse({
      stack,
      attacks: attacks.filter(({ name }) => names.includes(name)),
      volume,
      dice: diceOf(seeded(seed)),
      clock: systemClock,
      probesAtLeast: 1,
      attackMinutesMax: Number(values.minutes),
      timed: true,
      told: (report) => say(lineOf(report)),
    });
    if (values.table) say(tableOf(reports));
    const broken = reports.filter(({ faults }) => faults.length > 0).length;
    say(
      broken === 0 ? "Every rule held." : `${broken} attacks broke a rule. Again with: CARILLON_SEED=${seed}`,
    );
    return broken === 0 ? 0 : 1;
  } finally {
    await stack.stop();
  }
}

/** An interrupted run leaves no stack behind. */
function endWith(stack: AttackedStack): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void stack.stop().then(() => process.exit(1)));
}
