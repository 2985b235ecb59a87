/** A record whose blob is gone from the set that had it is reported by a job, although none of the record's own shards is damaged. */
import { contractDerive, contractProcedures } from 'svc/plugins/storage/contract'
import t from 'tap'
import { newJob, runJob } from '../../plugins/heal/job-run.ts'
import { idInSet, setOfBlob } from '../../plugins/pools/blob-ids.ts'
import { blobOfReference } from '../../plugins/pools/blob-references.ts'
import { procedure } from '../../plugins/pools/procedures.ts'
import { referenceFromKey, remoteReferenceEnd, remoteReferenceStart } from '../../plugins/pools/remote-references.ts'
import { newFolder, openTestPools, pathsIn } from '../../plugins/pools/test/fixtures/open-pools.ts'

// The clock's timers do not keep the process alive; a server's listeners would.
const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))

t.test('a job over pools, one of which has lost a blob', async t => {
  const folder = await newFolder(t)
  const pools = await openTestPools([pathsIn(folder, 'd', 2), pathsIn(folder, 'e', 2)], {
    procedures: contractProcedures,
    derive: contractDerive,
  })
  t.teardown(() => pools.stop())
  pools.placement.exclude(0)
  for (const name of ['kept', 'lost']) {
    const bytes = Buffer.alloc(150_000, name)
    const writer = pools.backend.createBlob(bytes.length)
    await writer.write(bytes)
    const { id } = await writer.finish()
    await pools.backend.execute('contract.steps', [{ put: name, value: name, blobs: [id] }])
    if (name === 'kept') continue
    const { backend } = pools.sets[setOfBlob(id)]!
    const references = await backend.scan(remoteReferenceStart, remoteReferenceEnd, cursor => {
      const found: string[] = []
      while (cursor.next()) {
        const reference = referenceFromKey(cursor.key)
        if (blobOfReference(reference) === idInSet(id)) found.push(reference)
      }
      return found
    })
    t.ok(references.length > 0)
    await backend.execute(procedure.release, { references, upTo: Number.MAX_SAFE_INTEGER })
  }
  for (const dryRun of [true, false]) {
    const job = newJob('1', { recursive: true, dryRun }, 'here', 0)
    await runJob(job, {
      redundant: pools.redundant,
      objects: undefined as never,
      storage: pools.backend,
      origin: undefined as never,
      signal: new AbortController().signal,
      beforeChange() {},
      now: () => 0,
    })
    t.ok(job.scanned > 1)
    t.match(job, { damaged: 1, healed: 0, failed: dryRun ? 0 : 1, dangling: 1, removed: 0 })
    t.equal(job.left?.keys.length, dryRun ? 0 : 1, 'no record counts it as lacking a shard')
    t.match(job.items, [{ dangling: true, healed: false, error: /cannot be read any more/ }])
  }
})
