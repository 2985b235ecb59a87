/**
 * Plugin `erasure`: contributes the storage backend of that name, provides the services `sets` and `redundancy`, and runs the background
 * repair of all open sets.
 */
import type { MaybePromise } from 'svc/kernel'
import { definePlugin } from 'svc/kernel'
import type { StorageLookOptions } from 'svc/plugins/storage/api'
import type { RedundancyService, RedundantStorage } from './api.ts'
import type { OpenSet } from './backend.ts'
import { ErasureConfig } from './config.ts'
import { checkParity, parityOf, reducedParityOf, validateEndpoints } from './endpoints.ts'
import { checkSet, notLookedAtInSet, peekScanSet, peekSet, planSet } from './preflight.ts'
import { checkSoleSet, createSets, createSoleSet } from './sets.ts'

export default definePlugin({
  name: 'erasure',
  description: 'Storage on sets of 2 to 16 drives, with erasure coding.',
  requires: ['drives'],
  provides: ['redundancy', 'sets'],
  config: ErasureConfig,
  setup({ config, services, contribute, background, threads }) {
    const { drives } = services
    const open = new Set<OpenSet>()
    let shown: RedundantStorage | undefined
    const redundancy: RedundancyService = { storage: () => shown }
    const preflightOptions = ({ endpoints }: StorageLookOptions) => ({
      drives,
      paths: endpoints,
      parityCount: parityOf(endpoints.length, config.standard),
    })
    const sets = createSets({
      drives,
      open,
      parityOf: driveCount => parityOf(driveCount, config.standard),
      reducedParityCount: reducedParityOf(config.reduced),
      retryMsMax: config.retryMsMax,
      validate: endpoints => validateEndpoints(endpoints, config.standard, config.reduced),
      check: options => checkSet(preflightOptions(options)),
      plan: options => planSet(preflightOptions(options)),
      notLookedAt: options => notLookedAtInSet(preflightOptions(options)),
      peek: (options, key) => peekSet(preflightOptions(options), key),
      peekScan: (options, start, end, visit) => peekScanSet(preflightOptions(options), start, end, visit),
      show(storage) {
        shown = storage
      },
    })
    contribute('storage.backend', 'erasure', {
      validate: sets.validate,
      ignored: endpoints => checkParity(endpoints.length, config.standard),
      async inspect(options) {
        const problems = await checkSoleSet(sets, options)
        if (problems.length > 0) return { problems }
        const plan = await sets.plan(options)
        return {
          plan,
          notLookedAt: await sets.notLookedAt(options),
          peek: key => sets.peek(options, key),
          peekScan: (start, end, visit) => sets.peekScan(options, start, end, visit),
        }
      },
      create: options => createSoleSet(sets, options),
    })
    if (!threads.isMain) return { services: { redundancy, sets } }
    background({
      name: 'drives',
      pauseMs: 5000,
      async work(signal) {
        const isAnything = await inEach(open, ({ set, repairLoop, writeState }) => {
          writeState.look()
          const isDone = set.isWhole && set.isDescribed && !set.hasDoubts
          return isDone || signal.aborted ? false : repairLoop.bringBack(signal)
        })
        return isAnything ? 'more' : 'idle'
      },
    })
    // Operators know the workers by these names.
    background({
      name: 'presence',
      pauseMs: 5000,
      async work(signal) {
        await inEach(open, async ({ mountCheck }) => {
          if (!signal.aborted) await mountCheck.check()
        })
        return 'idle'
      },
    })
    background({
      name: 'damage',
      pauseMs: 200,
      async work() {
        await inEach(open, ({ repairLoop }) => repairLoop.markMissingShards())
        return 'idle'
      },
    })
    background({
      name: 'heal',
      pauseMs: 1000,
      async work(signal) {
        const isAnything = await inEach(open, ({ repairLoop }) => !signal.aborted && repairLoop.healSome(signal))
        return isAnything ? 'more' : 'idle'
      },
    })
    return { services: { redundancy, sets } }
  },
})

/** Runs `work` for each open set. Returns whether any did something. An error of one set is thrown after the others had their turn. */
async function inEach(open: ReadonlySet<OpenSet>, work: (open: OpenSet) => MaybePromise<boolean | void>) {
  let isAnything = false
  let failure: unknown
  for (const each of [...open]) {
    try {
      if ((await work(each)) === true) isAnything = true
    } catch (error) {
      failure ??= error
    }
  }
  if (failure !== undefined) throw failure
  return isAnything
}
