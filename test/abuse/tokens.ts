import { Answers } from "./answers.ts";
import { ownPrefix, type Tokens } from "./attack.ts";
import { Caller } from "./caller.ts";

interface Wanted {
  name: string;
  scope: "read" | "write" | "admin";
  prefix?: string;
  rate?: string;
}

/** The tokens of the attacker, and that of the neighbour. */
export async function makeTokens(
  api: string,
  owner: string,
  ratePerSecond: number,
): Promise<{ attacker: Tokens; neighbour: string }> {
  const answers = new Answers();
  const caller = new Caller(api, answers);
  const make = async (wanted: Wanted) => {
    const made = await caller.json("POST", "/v1/tokens", { token: owner, body: wanted });
    if (made === undefined)
      throw new Error(
        `The token ${wanted.name} was not made: ${answers.faults.join("; ") || answers.text()}`,
      );
    return (made as { token: string }).token;
  };
  try {
    return {
      attacker: {
        owner,
        write: await make({ name: "write", scope: "write", prefix: ownPrefix }),
        rated: await make({ name: "rated", scope: "write", prefix: ownPrefix, rate: `${ratePerSecond}/s` }),
        admin: await make({ name: "admin", scope: "admin", prefix: ownPrefix }),
        read: await make({ name: "read", scope: "read" }),
      },
      neighbour: await make({ name: "neighbour", scope: "write", prefix: "neighbour:" }),
    };
  } finally {
    caller.close();
  }
}
