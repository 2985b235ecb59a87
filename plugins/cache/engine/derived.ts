/** Bytes that are computed from others, such as compressed bodies: computed once, and kept like blocks. */
import type { MaybePromise } from 'svc/kernel'
import type { Quota } from '../policy/policy.ts'
import { blockId, type Memory } from './memory.ts'

/** Stored if there are no such bytes: the form is no better than its source. */
const none = Buffer.alloc(0)

export function createDerived(memory: Memory) {
  const making = new Map<string, Promise<Buffer | undefined>>()

  return function derived(
    identity: string,
    form: string,
    make: () => Promise<Buffer | undefined | null>,
    quota?: Quota,
  ): MaybePromise<Buffer | undefined> {
    const id = blockId('form', identity, form)
    const found = memory.block(id)
    if (found !== undefined) return found.length === 0 ? undefined : found
    const running = making.get(id)
    if (running !== undefined) return running
    const work = make().then(bytes => {
      if (bytes !== null) memory.putBlock(id, bytes ?? none, quota)
      return bytes ?? undefined
    })
    making.set(id, work)
    return work.finally(() => making.delete(id))
  }
}
