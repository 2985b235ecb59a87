/** An open set as the service `redundancy` offers it: to `heal`, and to `pools`, which combines several. Created by `sets.ts`. */
import type { PlacedSet, RedundantSet } from './api.ts'
import type { OpenSet } from './backend.ts'
import { sumOf } from './ledger.ts'
import { isLost } from './lost-records.ts'
import { groupOf, tableByte } from './set-keys.ts'

const keysPerPage = 256
const firstKey = Buffer.from([0])

export function createRedundantSet({ set, healing, repairLoop, ledger, mountCheck }: OpenSet): RedundantSet {
  const sets: PlacedSet[] = []
  const redundant: RedundantSet = {
    sets,
    id: set.document.setId,
    driveCount: set.slotCount,
    dataCount: set.dataCount,
    get isWhole() {
      return set.isWhole
    },
    get canWrite() {
      return set.currentCount >= set.writeQuorum
    },
    get failingCount() {
      return repairLoop.failingCount
    },
    get unmarkedShardCount() {
      return repairLoop.unmarkedShardCount
    },
    get foundShardCount() {
      return repairLoop.foundShardCount
    },
    counts: repairLoop.counts,
    async drives() {
      await mountCheck.check()
      return set.status()
    },
    async amounts(records) {
      if (records === undefined) return ledger.read()
      const groups = new Map(records.map(groupOf).map(group => [group.latin1Slice(), group]))
      return sumOf(await Promise.all(Array.from(groups.values(), group => ledger.read(group))))
    },
    async page(start, end) {
      return set.leader().drive.scan(start, end, cursor => {
        const keys: Buffer[] = []
        let more = cursor.next()
        while (more && keys.length < keysPerPage) {
          if (cursor.key[0] === tableByte) more = cursor.seek(Buffer.from([tableByte + 1]))
          else {
            keys.push(Buffer.from(cursor.key))
            more = cursor.next()
          }
        }
        return { keys, next: more ? Buffer.from(cursor.key) : undefined }
      })
    },
    async heal(key, options) {
      const health = await healing.heal(key, options)
      if (health === undefined) return undefined
      repairLoop.countAsked(health, options)
      const isReadable = health.after.filter(state => state === 'ok').length >= health.dataCount
      return { ...health, isReadable }
    },
    // Before, so that files of a missing drive are not looked for; afterwards, because a drive may have gone in the meantime.
    isLost: async key =>
      (await mountCheck.check()) && (await isLost(set, healing, key)) && (await mountCheck.check()) && set.isWhole,
    async scrubSome(from, signal) {
      repairLoop.scrubFrom = Buffer.from(from ?? firstKey)
      return (await repairLoop.scrubSome(signal)) ? repairLoop.scrubFrom : undefined
    },
  }
  sets.push({ pool: 0, set: 0, redundant })
  return redundant
}
