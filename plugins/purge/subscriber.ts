/** Puts invalidations into the lanes of webhooks: with the commit of a change, or when somebody requests them. */
import type { Invalidation, InvalidationSubscriber } from 'svc/plugins/cache/api'
import type { QueueTopic } from 'svc/plugins/queue/api'
import type { StoredWebhook, WebhookCollection } from './documents.ts'
import { laneLimit, owedEntry, owedQueue } from './lane.ts'
import { laneName } from './lane-name.ts'

export interface SubscriberOptions {
  readonly collection: WebhookCollection
  readonly topic: Pick<QueueTopic, 'put' | 'push'>
}

export function createSubscriber({ collection, topic }: SubscriberOptions): InvalidationSubscriber {
  /** A webhook of a former distribution of the same id is removed soon; until then it is told too much. */
  function inMemory(distribution: string): readonly StoredWebhook[] {
    const found = collection.get(distribution)
    if (found instanceof Promise)
      throw new Error('purge: the storage thread does not have the webhooks of the distribution in memory')
    return found?.value.webhooks ?? []
  }

  const entryOf = (invalidation: Invalidation) => ({ key: '', payload: Buffer.from(JSON.stringify(invalidation)) })

  async function lanesOf(distribution: string | undefined): Promise<string[]> {
    if (distribution !== undefined) {
      const found = await collection.get(distribution)
      return (found?.value.webhooks ?? []).map(webhook => laneName(distribution, webhook))
    }
    const lanes: string[] = []
    for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
      const page: Awaited<ReturnType<typeof collection.list>> = await collection.list({ startAfter })
      for (const { id, value } of page.documents) lanes.push(...value.webhooks.map(webhook => laneName(id, webhook)))
      startAfter = page.next
    }
    return lanes
  }

  return {
    wants: distribution => inMemory(distribution).length > 0,
    changed(tx, invalidation) {
      const { distribution } = invalidation
      if (distribution === undefined) return
      const entry = entryOf(invalidation)
      for (const webhook of inMemory(distribution)) {
        const lane = laneName(distribution, webhook)
        if (!topic.put(tx, lane, entry, laneLimit)) topic.put(tx, owedQueue(lane), owedEntry, 1)
      }
    },
    async requested(invalidation) {
      const entry = entryOf(invalidation)
      for (const lane of await lanesOf(invalidation.distribution)) {
        if ((await topic.push(lane, [entry], laneLimit)) === 0) await topic.push(owedQueue(lane), [owedEntry], 1)
      }
    },
  }
}
