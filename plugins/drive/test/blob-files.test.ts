/** Deleting files of blobs in the background, and keeping them after all. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { until } from 'svc/testing'
import t, { type Test } from 'tap'
import { systemDrivePorts } from '../testing.ts'
import { makeBlobFiles } from './blob-files.ts'

const { disk } = systemDrivePorts()

/** Each file goes when the function at its place in `removing` is called. */
async function onSlowDisk(t: Test) {
  const path = await mkdtemp(join(tmpdir(), 'svc-blobs-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  const removing: (() => void)[] = []
  const remove = async (file: string) => {
    await new Promise<void>(resolve => removing.push(resolve))
    return disk.remove(file)
  }
  return { files: await makeBlobFiles({ ...disk, remove }, path), removing }
}

t.test('a file that is written anew is kept, even if the blob was to be deleted twice', async t => {
  const { files, removing } = await onSlowDisk(t)
  const id = files.newId()
  const file = files.pathOf(id)
  await writeFile(file, 'old')
  const done: string[] = []
  files.deleteSoon([id], () => done.push('first'))
  await until(() => removing.length > 0)
  // It has got a reference again, and lost that one too, while the disk was slow.
  files.deleteSoon([id], () => done.push('second'))
  const keeping = files.keep(id).then(() => writeFile(file, 'new'))
  removing[0]!()
  await keeping
  t.same(done, ['first'])
  t.equal(removing.length, 1, 'the second deletion was cancelled')
  t.same(await readdir(dirname(file)), [basename(file)])
})

t.test('a blob that is to be deleted again while its file goes is deleted again afterwards', async t => {
  const { files, removing } = await onSlowDisk(t)
  const [id, other] = [files.newId(), files.newId()]
  for (const each of [id, other]) await writeFile(files.pathOf(each), 'old')
  const gone = Promise.withResolvers<void>()
  files.deleteSoon([id])
  files.deleteSoon([id, other], each => {
    if (each === id) gone.resolve()
  })
  await until(() => removing.length === 2, { what: 'the others do not wait for it' })
  removing[0]!()
  await until(() => removing.length === 3)
  for (const go of removing) go()
  await gone.promise
  t.notOk(await disk.exists(files.pathOf(id)))
})
