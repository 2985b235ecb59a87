/**
 * Tells subscribers about changes of objects, inside their commits, for caches in front of this server. The table of distributions follows their
 * documents a moment later: caches in front have nothing yet of a distribution that was just created.
 */
import type { Logger } from 'svc/kernel'
import type { Distribution, DistributionsService } from 'svc/plugins/distributions/api'
import type { ObjectEvent } from 'svc/plugins/objects/api'
import type { Transaction } from 'svc/plugins/storage/api'
import type { Invalidation, InvalidationSubscriber } from '../api.ts'
import { indexDocumentsOf } from './selection.ts'

interface Site {
  readonly id: string
  readonly prefix: string
  readonly indexDocuments: ReadonlySet<string>
}

export interface ChangeRelay {
  /** Whether any subscriber wants changes of objects of this bucket. */
  wants(bucket: string): boolean
  tell(tx: Transaction, event: ObjectEvent): void
  /** To be called in the storage thread. */
  start(): Promise<void>
  stop(): void
}

export function createChangeRelay(
  distributions: DistributionsService | undefined,
  subscribers: () => readonly InvalidationSubscriber[],
  log: Logger,
): ChangeRelay {
  let sites: ReadonlyMap<string, readonly Site[]> = new Map()
  let endWatch: (() => void) | undefined

  async function load(): Promise<void> {
    try {
      sites = byBucket((await distributions?.all()) ?? [])
    } catch (error) {
      // The drive is failing or being closed: there are no changes to tell then.
      log.warn({ err: error }, 'distributions could not be read: changes go on being told for those of before')
    }
  }

  return {
    wants: bucket =>
      sites.get(bucket)?.some(({ id }) => subscribers().some(subscriber => subscriber.wants(id))) === true,
    tell(tx, { bucket, key }) {
      for (const { id, prefix, indexDocuments } of sites.get(bucket) ?? []) {
        if (!key.startsWith(prefix)) continue
        const items = pathsOf(key.slice(prefix.length), indexDocuments)
        const told: Invalidation = {
          id: '',
          distribution: id,
          kind: 'path',
          items,
          isCaseInsensitive: false,
          isSoft: false,
        }
        for (const subscriber of subscribers()) if (subscriber.wants(id)) subscriber.changed(tx, told)
      }
    },
    async start() {
      if (subscribers().length === 0 || distributions === undefined) return
      endWatch = distributions.watch(() => void load())
      await load()
    },
    stop: () => endWatch?.(),
  }
}

/** The path of a key; for an index document also the path of its folder, with and without the last slash. */
function pathsOf(key: string, indexDocuments: ReadonlySet<string>): readonly string[] {
  const path = `/${key}`
  const slash = path.lastIndexOf('/')
  if (!indexDocuments.has(path.slice(slash + 1))) return [path]
  return slash === 0 ? [path, '/'] : [path, path.slice(0, slash + 1), path.slice(0, slash)]
}

function byBucket(all: readonly Distribution[]): ReadonlyMap<string, readonly Site[]> {
  const found = new Map<string, Site[]>()
  for (const distribution of all) {
    const { bucket, pathPrefix: prefix } = distribution.origin
    const site = { id: distribution.id, prefix, indexDocuments: indexDocumentsOf([distribution]) }
    found.set(bucket, [...(found.get(bucket) ?? []), site])
  }
  return found
}
