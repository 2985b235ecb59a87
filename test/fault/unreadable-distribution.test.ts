/** Settings go with their distribution, and only with it: a distribution that this release cannot read is not gone. */
import { eventually } from 'svc/testing'
import t from 'tap'
import { createSettingsChanges } from '../../plugins/cache/settings/changes.ts'
import { declareCacheDocuments } from '../../plugins/cache/settings/documents.ts'
import { createFormerSettings } from '../../plugins/cache/settings/former.ts'
import { createDistributions } from '../../plugins/distributions/reading.ts'
import { startStore } from '../../plugins/store/test/start.ts'

t.test('a distribution that is there, one that is gone, one that was made again, one that cannot be read', async t => {
  const { store, collections } = await startStore(t, store => ({ cache: declareCacheDocuments(store) }))
  const { cache } = collections
  const content = { cache: { quota: '16MiB' }, domains: [], behaviors: [], warmOnWrite: [] }
  const names = ['there', 'gone', 'again', 'unreadable']
  for (const name of names) await cache.distributions.put(name, { distributionCreatedMs: 5, ...content })
  const registry = {
    get: async (id: string) => {
      const createdMs = { there: 5, again: 6 }[id]
      return createdMs === undefined ? undefined : { id, value: { createdMs } }
    },
    problem: async (id: string) => (id === 'unreadable' ? 'it has a field of a newer release' : undefined),
    watch: () => () => undefined,
  }
  const distributions = createDistributions(registry as never, undefined as never, () => 0)
  const former = createFormerSettings(
    createSettingsChanges(store, cache, key => key),
    distributions,
    {
      warn: (error: unknown) => t.fail(String(error)),
    } as never,
  )
  t.teardown(() => former.stop())
  former.start()
  const left = async () => {
    const found = await Promise.all(names.map(async name => ((await cache.distributions.get(name)) ? [name] : [])))
    return found.flat()
  }
  t.same(await eventually(left, found => found.length <= 2), ['there', 'unreadable'])
})
