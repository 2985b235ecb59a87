/** The families of drives and sets, as the drives change. */
import metrics from 'svc/plugins/metrics/index'
import { startKernel } from 'svc/testing'
import t from 'tap'
import type { DriveStatus } from '../api.ts'
import { registerDriveFamilies } from '../drive-families.ts'
import { drive } from './drives.ts'

const all = (...changed: DriveStatus[]): DriveStatus[] =>
  [1, 2, 3, 4].map(slot => changed.find(({ path }) => path === `/d${slot}`) ?? drive(slot))

t.test('each family follows its drive, and those of sets all of theirs', async t => {
  const kernel = await startKernel({ plugins: [metrics] })
  let drives: readonly DriveStatus[] | undefined
  const storage = {
    async drives() {
      if (drives === undefined) throw new Error('EIO')
      return drives
    },
  }
  registerDriveFamilies(kernel.services.metrics, storage, kernel.log)
  const shown = async (of: readonly DriveStatus[] | undefined, ...series: string[]) => {
    drives = of
    const text = await kernel.services.metrics.scrape()
    const lines = text
      .replaceAll(/,?server="[^"]+"/g, '')
      .replaceAll('{}', '')
      .split('\n')
    return series.map(name =>
      Number(
        lines
          .find(line => line.startsWith(`${name} `))
          ?.split(' ')
          .at(-1),
      ),
    )
  }
  const ofDrive = ['online', 'healing', 'total_bytes', 'used_bytes', 'free_bytes', 'reserved_bytes', 'free_inodes']
    .concat('damaged_segments', 'damaged_bodies')
    .map(name => `svc_drive_${name}{drive="/d2"}`)
  t.same(await shown(all(), ...ofDrive), [1, 0, 1000, 350, 600, 50, 90, 0, 0])
  const damaged = { damagedSegments: 2, damagedBodies: 3 }
  const sick = drive(
    2,
    { totalBytes: 2000, freeBytes: 100, reservedBytes: 20, freeInodes: 8, metrics: damaged },
    { isHealing: true },
  )
  t.same(await shown(all(sick), ...ofDrive), [1, 1, 2000, 1880, 100, 20, 8, 2, 3])
  t.same(await shown(all(drive(2, { state: 'offline' })), ofDrive[0]!), [0])

  const ofJournal = [
    'journal_bytes',
    'journal_live_bytes',
    'compacted_segments_total',
    'compaction_moved_bytes_total',
  ].map(name => `svc_drive_${name}{drive="/d2"}`)
  const journal = { journalBytes: 90, journalLiveBytes: 60, compactedSegments: 4, compactionMovedBytes: 70 }
  t.same(await shown(all(), ...ofJournal), [0, 0, 0, 0])
  t.same(await shown(all(drive(2, { metrics: journal })), ...ofJournal), [90, 60, 4, 70])

  const counts = ['total', 'online', 'offline', 'healing'].map(name => `svc_cluster_drives_${name}`)
  t.same(await shown(all(), ...counts), [4, 4, 0, 0])
  t.same(await shown(all(sick, drive(3, { state: 'faulty' })), ...counts), [4, 3, 1, 1])

  const sets = ['healthy', 'degraded', 'read_only', 'unavailable'].map(name => `svc_cluster_sets_${name}{pool="0"}`)
  const away = (...slots: number[]) => all(...slots.map(slot => drive(slot, { state: 'offline' })))
  t.same(await shown(away(), ...sets), [1, 0, 0, 0])
  t.same(await shown(away(1), ...sets), [0, 1, 0, 0])
  t.same(await shown(away(1, 2), ...sets), [0, 0, 1, 0])
  t.same(await shown(away(1, 2, 3), ...sets), [0, 0, 0, 1])
  const quorums = ['read', 'write'].flatMap(kind => [0, 1].map(pool => `svc_cluster_${kind}_quorum{pool="${pool}"}`))
  const second = drive(9, {}, { pool: 1, readQuorum: 4, writeQuorum: 5 })
  t.same(await shown([...all(), second], ...quorums), [2, 4, 3, 5])
  t.same(await shown(undefined, ...ofDrive.slice(0, 1)), [Number.NaN], 'nothing is known')
  t.same(await shown(undefined, ...ofJournal.slice(2, 3)), [Number.NaN])
  await kernel.stop()
})
