import { expect } from "vitest";
import type { OwnApi, SendParts } from "./own-api.ts";

/** A token as the API made it, with its secret. */
export interface Issued {
  id: string;
  token: string;
}

/** Makes a token of scope admin, unless it asks for another scope, by another token or by an admin of all keys. */
export async function issueToken(api: OwnApi, asked: object, by?: Issued): Promise<Issued> {
  const made = await api.send("POST", "/v1/tokens", { ...withToken(by), body: { scope: "admin", ...asked } });
  expect(made.status).toBe(201);
  return made.json as Issued;
}

/** The parts of a request with this token; without one it is that of an admin of all keys. */
export const withToken = (by?: Issued): SendParts =>
  by === undefined ? {} : { headers: { authorization: `Bearer ${by.token}` } };
