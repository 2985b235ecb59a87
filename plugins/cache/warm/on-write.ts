/**
 * `warmOnWrite`: an object whose path matches is fetched into the cache after it was written. The path is put into the queue `warm:<distribution>`
 * with the commit of the write, so that no crash loses it; paths of one second are fetched together.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'svc/kernel'
import type { DistributionsService } from 'svc/plugins/distributions/api'
import type { NormalizeKey } from 'svc/plugins/policy/api'
import type { Delivery, QueueEntry, QueueTopic } from 'svc/plugins/queue/api'
import type { InvalidationSubscriber, WarmOutcome } from '../api.ts'
import type { CacheDocuments } from '../settings/documents.ts'
import type { FetchBatch } from './fetching.ts'
import { compiled } from './targets.ts'

/** Most paths that wait for one distribution; further ones are not warmed. */
const waitingMax = 10_000
const batchMax = 200
const gatherMs = 1000
const concurrency = 4
const prefix = 'warm:'

export interface OnWriteOptions {
  readonly documents: Pick<CacheDocuments, 'distributions'>
  readonly distributions: DistributionsService | undefined
  readonly topic: QueueTopic
  readonly fetchBatch: FetchBatch
  readonly log: Logger
  readonly normalizeKey: NormalizeKey
  count(result: WarmOutcome['result']): void
}

export interface OnWrite {
  readonly subscriber: InvalidationSubscriber
  /** To be called in the main thread. */
  start(): Promise<void>
  stop(): Promise<void>
}

type Matcher = (path: string) => boolean

export function createOnWrite(options: OnWriteOptions): OnWrite {
  const { documents, distributions, topic, fetchBatch, log, normalizeKey, count } = options
  const matchers = new Map<string, { readonly etag: string; readonly match: Matcher | undefined }>()
  const lanes = new Map<string, Delivery>()
  let unwatch: (() => void) | undefined
  let following: Promise<void> = Promise.resolve()

  /** Called in commits: the storage thread has the documents in memory. */
  function matcherOf(id: string): Matcher | undefined {
    const found = documents.distributions.get(id)
    if (found === undefined || found instanceof Promise || found.value.warmOnWrite.length === 0) return undefined
    const known = matchers.get(id)
    if (known?.etag === found.etag) return known.match
    const match = makeMatcher(found.value.warmOnWrite.map(normalizeKey))
    matchers.set(id, { etag: found.etag, match })
    return match
  }

  async function warm(id: string, entries: readonly QueueEntry[]): Promise<void> {
    const site = await distributions?.get(id)
    const hosts = site?.aliases.filter(alias => !alias.startsWith('*.')) ?? []
    const targets = [...new Set(entries.map(({ payload }) => payload.toString('utf8')))]
    for (const host of hosts) {
      for (let from = 0; from < targets.length; from += concurrency) {
        const batch = targets.slice(from, from + concurrency)
        const outcomes = await fetchBatch({ distribution: id, host, headers: {}, targets: batch })
        for (const { result } of outcomes) count(result)
      }
    }
  }

  function open(id: string): Delivery {
    return topic.deliver(prefix + id, {
      batchMax,
      async send(entries, signal) {
        const began = performance.now()
        await warm(id, entries)
        const tookMs = performance.now() - began
        if (tookMs < gatherMs) await sleep(gatherMs - tookMs, undefined, { signal }).catch(() => {})
      },
      onFailed(reason) {
        log.warn({ reason, distribution: id }, 'pages could not be warmed after a write; it is tried again')
      },
    })
  }

  async function follow(): Promise<void> {
    const wanted = new Set<string>()
    for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
      const page: Awaited<ReturnType<typeof documents.distributions.list>> = await documents.distributions.list({
        startAfter,
      })
      for (const { id, value } of page.documents) if (value.warmOnWrite.length > 0) wanted.add(id)
      startAfter = page.next
    }
    for (const id of wanted) if (!lanes.has(id)) lanes.set(id, open(id))
    for (const [id, lane] of lanes) {
      if (wanted.has(id)) continue
      lanes.delete(id)
      matchers.delete(id)
      await lane.stop()
    }
    for (const queue of await topic.queues()) {
      if (queue.startsWith(prefix) && !wanted.has(queue.slice(prefix.length))) await topic.clear(queue)
    }
  }

  function followSoon(): Promise<void> {
    following = following.then(follow).catch(error => {
      log.error({ err: error }, 'distributions that are warmed after writes could not be read')
    })
    return following
  }

  return {
    subscriber: {
      wants: id => matcherOf(id) !== undefined,
      changed(tx, { distribution, items }) {
        if (distribution === undefined) return
        const match = matcherOf(distribution)
        // An index document is fetched by the path of its folder.
        const path = items.find(item => item.endsWith('/')) ?? items[0]
        if (path === undefined || !items.some(item => match?.(item))) return
        const payload = Buffer.from(path.split('/').map(encodeURIComponent).join('/'))
        if (!topic.put(tx, prefix + distribution, { key: '', payload }, waitingMax)) count('skipped')
      },
      requested: () => {},
    },
    async start() {
      unwatch = documents.distributions.watch(
        () => void followSoon(),
        () => void followSoon(),
      )
      await followSoon()
    },
    async stop() {
      unwatch?.()
      await following
      await Promise.all([...lanes.values()].map(lane => lane.stop()))
      lanes.clear()
    },
  }
}

/** Undefined if another release has written patterns that this one cannot read. */
function makeMatcher(patterns: readonly string[]): Matcher | undefined {
  try {
    const all = patterns.map(pattern => compiled({ type: 'glob', pattern }))
    return path => all.some(match => match(path))
  } catch {
    return undefined
  }
}
