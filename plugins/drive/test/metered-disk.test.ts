/** What is counted of the operations of a drive. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import metrics from 'svc/plugins/metrics/index'
import { startKernel } from 'svc/testing'
import t from 'tap'
import { registerFamilies } from '../families.ts'
import { meteredDisk } from '../metered-disk.ts'
import { createSystemDisk } from '../system-disk.ts'

t.test('operations, their time and their failures are counted by drive', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-metered-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const kernel = await startKernel({ plugins: [metrics] })
  const meterOf = registerFamilies(kernel.services.metrics)
  const meter = meterOf('/data')
  t.equal(meterOf('/data'), meter, 'a drive that is opened again goes on counting')
  const system = createSystemDisk()
  let failure: string | undefined
  const disk = meteredDisk(
    {
      ...system,
      list: path =>
        failure === undefined ? system.list(path) : Promise.reject(Object.assign(new Error('no'), { code: failure })),
    },
    meter,
  )
  const path = join(folder, 'file')
  const file = await disk.open(path, { mode: 'create' })
  await file.write(Buffer.from('text'), 0, 4, 0)
  await file.write(Buffer.from('text'), 0, 4, 4)
  await file.datasync()
  t.equal(await file.read(Buffer.alloc(8), 0, 8, 0), 8)
  t.equal(await file.size(), 8)
  await file.truncate(4)
  await file.close()
  await disk.list(folder)
  await disk.rename(path, `${path}.new`)
  await disk.syncDirectory(folder)
  await t.rejects(disk.open(path, { mode: 'read' }), { code: 'ENOENT' })
  await disk.remove(`${path}.new`)
  t.equal(await disk.exists(path), false)
  for (const code of ['EIO', 'EIO', 'ENOSPC', 'EROFS', 'EACCES', 'EMFILE', 'ENOENT']) {
    failure = code
    await t.rejects(disk.list(folder), { code })
  }
  const text = await kernel.services.metrics.scrape()
  const values = (name: string) =>
    Object.fromEntries(
      [...text.matchAll(new RegExp(`^${name}\\{drive="/data",\\w+="(\\w+)",server="[^"]+"\\} (\\S+)$`, 'gm'))].map(
        ([, label, value]) => [label, Number(value)],
      ),
    )
  t.same(values('svc_drive_operations_total'), {
    read: 1,
    write: 2,
    sync: 2,
    open: 2,
    list: 8,
    rename: 1,
    remove: 1,
    truncate: 1,
    stat: 2,
  })
  for (const [operation, seconds] of Object.entries(values('svc_drive_operation_seconds_total'))) {
    t.ok(seconds > 0, operation)
  }
  t.same(values('svc_drive_errors_total'), { io: 2, full: 1, read_only: 1, permission: 1, other: 1 })
  await kernel.stop()
})
