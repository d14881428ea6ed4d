import type { IncomingHttpHeaders, RequestListener } from "node:http";

/** The part of Fastify, which fauxqs is built on, that the hooks of this folder use. */
export interface FastifyInstance {
  readonly routing: RequestListener;
  addHook(name: "onRequest", hook: (request: FastifyRequest) => Promise<void>): void;
  addHook(name: "preHandler", hook: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>): void;
  addHook(
    name: "preSerialization",
    hook: (request: FastifyRequest, reply: FastifyReply, payload: unknown) => Promise<unknown>,
  ): void;
  ready(): Promise<unknown>;
  close(): Promise<void>;
}

export interface FastifyRequest {
  headers: IncomingHttpHeaders;
  body: unknown;
  raw: { socket: { destroyed: boolean } };
}

export interface FastifyReply {
  status(code: number): FastifyReply;
  header(name: string, value: string): FastifyReply;
  send(body: unknown): FastifyReply;
}
