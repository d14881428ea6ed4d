import { createHash } from "node:crypto";

/** A resource of a stack. */
export interface Owner {
  /** The name of the stack. */
  stack: string;
  /** The logical id of the resource in it. */
  resource: string;
}

/** The limit of a tag's length. */
const lengthMax = 100;
const hashLength = 16;

/** Tags that name an owner: a directory of `carillon apply`, or a stack. */
const ownerTag = /^(apply|stack):/;

/**
 * The tags of a resource's schedule. The first one finds and holds all schedules of a stack; the
 * second one names the owner, because two resources of one stack may have the same key by mistake.
 */
export function tagsOf({ stack, resource }: Owner): [ofStack: string, ofResource: string] {
  return [shortened(`stack:${stack}`), shortened(`stack:${stack}:${resource}`)];
}

function shortened(tag: string): string {
  if (tag.length <= lengthMax) return tag;
  const hash = createHash("sha256").update(tag).digest("hex").slice(0, hashLength);
  return `${tag.slice(0, lengthMax - hashLength - 1)}~${hash}`;
}

export function isOwnerTag(tag: string): boolean {
  return ownerTag.test(tag);
}

/** Whether the tags name this resource as their owner. */
export function isOwnedBy(owner: Owner, tags: readonly string[]): boolean {
  return tags.includes(tagsOf(owner)[1]);
}

/** The tag of another owner; undefined if there is none. */
export function otherOwner(owner: Owner, tags: readonly string[]): string | undefined {
  const own: readonly string[] = tagsOf(owner);
  const others = tags.filter((tag) => isOwnerTag(tag) && !own.includes(tag));
  // The tag of a resource says more than that of its stack.
  return others.toSorted((a, b) => b.length - a.length)[0];
}
