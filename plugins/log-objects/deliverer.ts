/**
 * Writes what is queued as objects, in the main thread. Each round delivers what waited when it began and stops: the lines of an interval
 * come together in few objects. An object is written before its entries are deleted, so a crash in between writes its lines again.
 */
import type { BackgroundWorker } from 'svc/kernel'
import type { Body } from 'svc/plugins/objects/api'
import type { Delivery, QueueEntry } from 'svc/plugins/queue/api'
import { type QueuedLines, queuePrefix } from './collector.ts'
import type { LogObjectsOptions } from './log-objects.ts'

export interface Deliverer {
  readonly worker: BackgroundWorker
  stop(): Promise<void>
}

const batchMax = 1000
const timeoutMs = 60_000

export function createDeliverer<D extends object>(options: LogObjectsOptions<D>): Deliverer {
  const { objects, topic, intervalMs, ports, log, partOf, keyOf, system, isMeant = anyIs, encode = asItIs } = options
  const running = new Map<string, Delivery>()

  const end = async (queue: string) => {
    const delivery = running.get(queue)
    await delivery?.stop()
    if (running.get(queue) === delivery) running.delete(queue)
  }

  const begin = async (queue: string) => {
    let left = (await topic.status(queue)).pending
    // One that is still trying goes on: its target does not take the objects.
    if (left === 0 || running.has(queue)) return
    /** Entries of a failed batch whose lines are in an object: they are not written again. */
    const written = new Set<string>()
    const delivery = topic.deliver(queue, {
      batchMax,
      timeoutMs,
      send: entries => write(queue.slice(queuePrefix.length), entries, written),
      onSent(count) {
        left -= count
        if (left <= 0) void end(queue)
      },
      onFailed: reason =>
        log.warn({ target: queue.slice(queuePrefix.length), reason }, 'lines of logs wait: writing them failed'),
    })
    running.set(queue, delivery)
  }

  const write = async (target: string, entries: readonly QueueEntry[], written: Set<string>) => {
    const all = entries
      .filter(({ id }) => !written.has(id))
      .map(({ id, payload }) => {
        const { eventMs, lines, ...rest } = JSON.parse(payload.toString()) as QueuedLines<D>
        return { id, eventMs, lines, destination: rest as unknown as D }
      })
    const groups = Map.groupBy(all, ({ destination, eventMs }) =>
      JSON.stringify([destination, partOf(destination, eventMs)]),
    )
    for (const group of groups.values()) {
      const [{ destination, eventMs }] = group as [(typeof group)[0]]
      const text = await encode(Buffer.from(group.map(({ lines }) => lines).join('')))
      try {
        await objects.putObject({
          bucket: target,
          key: keyOf(destination, { eventMs, deliveryMs: ports.clock.now() }),
          attributes: { system, user: {}, storageClass: 'STANDARD' },
          // After the write has begun: a bucket that is deleted since then refuses it, whoever has made the next one.
          body: bodyOf(text, async () => {
            if (!(await isMeant(target, destination))) throw new NotMeant()
          }),
          checksumAlgorithm: undefined,
        })
      } catch (error) {
        if (!(error instanceof NotMeant) && (error as { code?: unknown }).code !== 'NoSuchBucket') throw error
        // It was deleted: as on AWS, the lines are dropped.
        log.warn({ destination, target }, 'lines of logs are dropped: their bucket was deleted')
      }
      for (const { id } of group) written.add(id)
    }
    for (const { id } of entries) written.delete(id)
  }

  return {
    worker: {
      name: 'deliver',
      pauseMs: intervalMs,
      async work() {
        for (const queue of await topic.queues()) await begin(queue)
        return 'idle'
      },
    },
    async stop() {
      await Promise.all([...running.keys()].map(end))
    },
  }
}

const asItIs = (text: Buffer): Promise<Buffer> => Promise.resolve(text)

const anyIs = (): boolean => true

class NotMeant extends Error {}

function bodyOf(bytes: Buffer, check: () => Promise<void>): Body {
  return {
    sizeBytes: bytes.length,
    consume: async sink => {
      await check()
      await sink(bytes)
    },
    expectedDigests: () => ({ md5: undefined, checksum: undefined }),
  }
}
