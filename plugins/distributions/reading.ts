/** The calls by which other plugins read distributions. */
import type { DistributionsService } from './api.ts'
import { asHost, normalizeHost } from './hosts.ts'
import { isPublicWebsite } from './log-target.ts'
import type { Registry } from './registry.ts'
import { viewOf } from './saving.ts'
import type { Ready } from './visit.ts'

export function createDistributions(
  registry: Registry<Ready>,
  stage: DistributionsService['stage'],
  now: () => number,
): DistributionsService {
  return {
    async get(id) {
      const document = await registry.get(id)
      return document && { ...document.value, id: document.id }
    },
    async find(host) {
      const found = (await registry.table()).hosts.find(normalizeHost(asHost(host)))
      return found && { distribution: found.value.distribution, alias: found.alias }
    },
    all: async () => (await registry.all()).map(({ id, value }) => ({ ...value, id })),
    async publishedBuckets() {
      const shown = (await registry.all()).filter(({ value }) => value.enabled && isPublicWebsite(value))
      return new Set(shown.map(({ value }) => value.origin.bucket))
    },
    async needing(bucket) {
      const found = (await registry.all()).filter(({ value }) => value.origin.bucket === bucket)
      return found.map(({ id, value }) => ({ ...value, id }))
    },
    async isGone(id, createdMs) {
      const document = await registry.get(id)
      return document === undefined
        ? (await registry.problem(id)) === undefined
        : document.value.createdMs !== createdMs
    },
    document(distribution) {
      const {
        createdAt: _created,
        updatedAt: _updated,
        etag: _etag,
        ...fields
      } = viewOf(distribution, undefined, now())
      return fields
    },
    stage,
    watch: listener => registry.watch(listener),
    async behaviorOf(id, path) {
      const document = await registry.get(id)
      const alias = document?.value.aliases[0]
      if (alias === undefined) return undefined
      const found = (await registry.table()).hosts.find(alias.replace(/^\*/, 'any'))
      return found?.value.server.behaviorOf?.(path)?.index
    },
  }
}
