/** Plugin `pools`: contributes the storage backend of that name, which makes one storage of several sets, and runs its background work. */
import { definePlugin } from 'svc/kernel'
import type { StorageLookOptions } from 'svc/plugins/storage/api'
import { createBackend, type OpenPools } from './backend.ts'
import { cutPools, poolProblems } from './endpoints.ts'
import { checkPools, notLookedAtInPools, peekPools, peekScanPools, planPools } from './preflight.ts'
import { createRedundantStorage } from './redundancy.ts'

export default definePlugin({
  name: 'pools',
  description: 'One storage of several sets of drives.',
  requires: ['drives', 'sets'],
  setup({ services, contribute, background, threads }) {
    const { drives, sets } = services
    let open: OpenPools | undefined
    const preflightOptions = ({ endpoints, pools = [endpoints] }: StorageLookOptions) => ({
      drives,
      sets,
      pools,
    })
    contribute('storage.backend', 'pools', {
      validate(endpoints, pools = [endpoints]) {
        const problems = poolProblems(pools)
        const twice = endpoints.find((path, index) => endpoints.indexOf(path) !== index)
        if (twice !== undefined) problems.push(`The drive ${twice} is named twice.`)
        if (problems.length > 0) return problems
        return [...new Set(cutPools(pools).flatMap(({ paths }) => sets.validate(paths)))]
      },
      async inspect(options) {
        const given = preflightOptions(options)
        const problems = await checkPools(given)
        if (problems.length > 0) return { problems }
        const plan = await planPools(given)
        return {
          plan,
          notLookedAt: await notLookedAtInPools(given),
          peek: key => peekPools(given, key),
          peekScan: (start, end, visit) => peekScanPools(given, start, end, visit),
        }
      },
      create: options =>
        createBackend({
          ...options,
          drives,
          sets,
          onOpen(opened) {
            open = opened
            sets.show(opened && createRedundantStorage(opened.sets))
          },
        }),
    })
    if (!threads.isMain) return {}
    background({
      name: 'placement',
      pauseMs: 2000,
      async work() {
        await open?.placement.look(open.sets)
        return 'idle'
      },
    })
    // Operators know the worker by this name.
    background({
      name: 'compare',
      pauseMs: 5000,
      status: () =>
        open === undefined
          ? ''
          : `${open.orphanSweep.looked} remote references checked, ${open.orphanSweep.deleted} deleted`,
      async work() {
        if (open === undefined || open.orphanSweep.isDone) return 'idle'
        await open.orphanSweep.step()
        return open.orphanSweep.isDone ? 'idle' : 'more'
      },
    })
    return {}
  },
})
