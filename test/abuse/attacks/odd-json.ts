import { type Attack, ownPrefix } from "../attack.ts";
import { inParallel } from "../caller.ts";

const atOnce = 2;

const inPayload = (text: string) => `{"when":"every 1h","target":{"handler":"greet"},"payload":${text}}`;

const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth);

/** Texts that a parser of JSON may stumble over. */
function texts(): (string | Buffer)[] {
  const values = [
    nested("[", "]", 100_000),
    nested('{"a":', "}", 100_000).replace(":}", ":1}"),
    "[".repeat(1_000_000),
    `[${"1,".repeat(300_000)}1]`,
    `{${Array.from({ length: 100_000 }, (_, index) => `"k${index}":1`).join(",")}}`,
    "1e400",
    "-1e400",
    "9".repeat(100_000),
    `0.${"1".repeat(100_000)}`,
    "1e-400",
    "-0",
    "9007199254740993",
    '{"a":1,"a":2}',
    '"\\ud800"',
    '"\\u0000"',
    '{"\\u0000":1}',
    '{"__proto__":{"isAdmin":true},"constructor":{"prototype":1}}',
    "NaN",
    "[1,]",
    "'a'",
    "01",
    '"\u0007"',
  ];
  return [
    ...values.map(inPayload),
    ...values,
    "",
    " ",
    "null",
    "[]",
    '"text"',
    "\ufeff{}",
    Buffer.concat([Buffer.from('{"when":"'), Buffer.from([0xff, 0xfe, 0xc0, 0x80]), Buffer.from('"}')]),
    Buffer.from([0xed, 0xa0, 0x80]),
    Buffer.alloc(1_000),
    `{"when":${JSON.stringify(Array.from({ length: 1_000 }, () => "* * * * *"))},"target":{"handler":"greet"}}`,
    `{"when":"${"*/1,".repeat(10_000)}1 * * * *","target":{"handler":"greet"}}`,
    `{"tags":${JSON.stringify(Array.from({ length: 10_000 }, (_, index) => `t${index}`))}}`,
    `{"operations":${JSON.stringify(Array.from({ length: 1_001 }, () => ({ delete: "abuse:none" })))}}`,
  ];
}

const places = [
  ["PUT", `/v1/schedules/${ownPrefix}odd`],
  ["PATCH", `/v1/schedules/${ownPrefix}odd`],
  ["POST", "/v1/schedules:batch"],
  ["POST", "/v1/preview"],
  ["POST", "/v1/jobs"],
  ["POST", `/v1/groups/${ownPrefix}odd/pause`],
] as const;

export const oddJson: Attack = {
  name: "json",
  does: "sends JSON that is deep, wide, ambiguous or broken: numbers, keys, characters, bytes",
  holds: "the answer is a success or a refusal that names the fault",
  async run({ caller, tokens }, { bodies }) {
    const all = texts();
    await inParallel(bodies * all.length * places.length, atOnce, async (index) => {
      const [method, path] = places[index % places.length] ?? places[0];
      const body = all[Math.floor(index / places.length) % all.length];
      await caller.send({ method, path, token: tokens.write, body });
    });
  },
};
