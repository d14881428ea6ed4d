import type { Attack } from "../attack.ts";
import { inParallel } from "../caller.ts";
import { deleteOwn } from "../delete-own.ts";
import { fuzzedRequest } from "../fuzz/fuzzed-request.ts";
import { operationsOf } from "../fuzz/operations.ts";

const atOnce = 16;

export const fuzz: Attack = {
  name: "fuzz",
  does: "sends valid requests of every operation of the OpenAPI document with a few places changed",
  holds: "each answer is a success or a refusal",
  async run(ground, { requests }) {
    const { caller, tokens, dice } = ground;
    const grammar = operationsOf(await caller.json("GET", "/v1/openapi.json", { token: tokens.read }));
    await inParallel(requests, atOnce, () => caller.send(fuzzedRequest(grammar, tokens, dice)));
    await deleteOwn(ground);
  },
};
