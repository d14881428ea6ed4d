import type * as z from "zod";
import { Problem } from "../../../api/request/problem.ts";
import { readShape } from "../../../api/request/route.ts";
import type { TestCarillon } from "../test-carillon.ts";
import { clockShape, faultsShape, readShapeOfKey, resetShape } from "./faults-shape.ts";

export interface TestRequest {
  method: string;
  path: string;
  query: Readonly<Record<string, string>>;
  /** The body as parsed JSON; undefined without one. */
  body: unknown;
}

/** Everything under /test: the methods of the kit for tests in other languages. */
export class TestRoutes {
  readonly #open: (now: string | undefined) => Promise<TestCarillon>;
  #carillon: TestCarillon;
  #isMoving = false;

  private constructor(open: (now: string | undefined) => Promise<TestCarillon>, carillon: TestCarillon) {
    this.#open = open;
    this.#carillon = carillon;
  }

  static async opened(open: (now: string | undefined) => Promise<TestCarillon>): Promise<TestRoutes> {
    return new TestRoutes(open, await open(undefined));
  }

  /** The Carillon of now: a reset replaces it. */
  get carillon(): TestCarillon {
    return this.#carillon;
  }

  async answer({ method, path, query, body }: TestRequest): Promise<unknown> {
    switch (`${method} ${path}`) {
      case "GET /test/clock":
        return this.#now();
      case "POST /test/clock":
        return this.#alone(() => this.#advance(readShape(clockShape, body, "body")));
      case "POST /test/reset":
        return this.#alone(() => this.#reset(readShape(resetShape, body ?? {}, "body")));
      case "POST /test/faults":
        return this.#alone(() => this.#fault(readShape(faultsShape, body, "body")));
      case "GET /test/notices":
        return { items: this.#carillon.notices() };
      case "GET /test/jobs":
      case "GET /test/runs":
      case "GET /test/deliveries":
        return { items: this.#read(path, readShape(readShapeOfKey, query, "query").key) };
    }
    throw new Problem(
      "missing",
      `There is no ${method} ${path}. A test has GET and POST /test/clock, POST /test/reset and /test/faults, and GET /test/jobs, /test/runs, /test/deliveries and /test/notices.`,
    );
  }

  #now() {
    return { now: this.#carillon.now().toISOString() };
  }

  #read(path: string, key: string | undefined): readonly object[] {
    if (path === "/test/jobs") return this.#carillon.jobs(key);
    return path === "/test/runs" ? this.#carillon.runs(key) : this.#carillon.deliveries(key);
  }

  /** Two requests at once that move the clock, or change how it moves, are a mistake of the test. */
  async #alone<Result>(act: () => Promise<Result>): Promise<Result> {
    if (this.#isMoving)
      throw new Problem("conflict", "The clock is being moved by another request, which has not ended.");
    this.#isMoving = true;
    try {
      return await act();
    } finally {
      this.#isMoving = false;
    }
  }

  async #advance(given: z.output<typeof clockShape>) {
    if ("to" in given && new Date(given.to) < this.#carillon.now())
      throw new Problem(
        "impossible",
        `The clock is at ${this.#now().now} and does not go back to ${given.to}; POST /test/reset begins anew.`,
      );
    await this.#carillon.advance("to" in given ? given.to : given.advance);
    return this.#now();
  }

  async #reset({ now }: z.output<typeof resetShape>) {
    const old = this.#carillon;
    this.#carillon = await this.#open(now);
    await old.stop();
    return this.#now();
  }

  async #fault(given: z.output<typeof faultsShape>) {
    const { failNext, handlerTakes, ticksMissing, queueDuplicates, queueLoses, workerDies } = given;
    const carillon = this.#carillon;
    if (failNext !== undefined) {
      const { key, ...how } = failNext;
      carillon.failNext(key, how);
    }
    if (handlerTakes !== undefined) carillon.handlerTakes(handlerTakes.duration, handlerTakes.key);
    if (queueDuplicates !== undefined) carillon.queueDuplicates(queueDuplicates);
    if (queueLoses !== undefined) carillon.queueLoses(queueLoses);
    if (workerDies !== undefined) carillon.workerDies(workerDies);
    if (given.databaseRestarts) carillon.databaseRestarts();
    if (ticksMissing !== undefined) await carillon.ticksMissing(ticksMissing);
    return this.#now();
  }
}
