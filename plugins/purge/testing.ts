/** For tests of kinds of webhooks: a cache in front of the server, and the context of a connected webhook. */
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { createTestHttpClient } from 'svc/plugins/http-client/testing'
import { createSystemPorts } from 'svc/testing'
import type { Test } from 'tap'
import type { PurgeWebhookContext } from './api.ts'
import { createOutgoing } from './outgoing.ts'

/** Copies by their URL. What vendors do with a purge, behind the wire format of each. */
export interface TestCdn {
  put(url: string, tags?: readonly string[]): void
  has(url: string): boolean
  urls(): readonly string[]
  purgeUrl(url: string): void
  /** All schemes; `start` is `host/path`. */
  purgeStart(start: string): void
  purgeTag(tag: string): void
  /** Purges a path on every host; it may end in an asterisk. */
  purgePath(path: string): void
  purgeAll(): void
}

export function createTestCdn(): TestCdn {
  const copies = new Map<string, ReadonlySet<string>>()
  const remove = (isSelected: (url: string, tags: ReadonlySet<string>) => boolean) => {
    for (const [url, tags] of copies) if (isSelected(url, tags)) copies.delete(url)
  }
  const bare = (url: string) => url.replace(/^https?:\/\//, '')
  return {
    put: (url, tags = []) => void copies.set(url, new Set(tags)),
    has: url => copies.has(url),
    urls: () => [...copies.keys()],
    purgeUrl: url => void copies.delete(url),
    purgeStart: start => remove(url => bare(url).startsWith(start)),
    purgeTag: tag => remove((_url, tags) => tags.has(tag)),
    purgePath: path =>
      remove(url => {
        const own = new URL(url).pathname
        return path.endsWith('*') ? own.startsWith(path.slice(0, -1)) : own === path
      }),
    purgeAll: () => copies.clear(),
  }
}

/** The context of a webhook that may reach loopback addresses. */
export function createTestContext(t: Test, changes: Partial<PurgeWebhookContext> = {}): PurgeWebhookContext {
  const { clock, random } = createSystemPorts()
  const outgoing = createOutgoing(createTestHttpClient(t), ['127.0.0.0/8'])
  t.teardown(() => outgoing.close())
  const log = pino(new Writable({ write: (_chunk, _encoding, done) => done() })) as never
  return { request: outgoing.request, distribution: 'site', log, clock, random, ...changes }
}
