/**
 * restic: a backup tool that keeps a repository of many immutable blobs and trusts nothing. Its own check reads every byte back, and
 * a server that is killed in the middle of a backup must leave a repository in which that check finds no error.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DeleteObjectCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3'
import t, { type Test } from 'tap'
import { bytesOf, clientEnvironment, readTree, requireProgram, run, sorted } from './clients.ts'
import { createClient } from './sdk.ts'
import { startServer } from './server.ts'

t.setTimeout(400_000)
const { path: program, skip } = requireProgram('restic')

const server = await startServer()
t.teardown(() => server.remove())
const s3 = createClient(server)
t.teardown(() => s3.destroy())
const Bucket = 'backups'
const folder = join(server.folder, 'restic')
const tree = join(folder, 'tree')
mkdirSync(tree, { recursive: true })

const environment = {
  RESTIC_PASSWORD: 'of the repository',
  RESTIC_REPOSITORY: `s3:${server.endpoint}/${Bucket}/host`,
  RESTIC_CACHE_DIR: join(folder, 'cache'),
  RESTIC_PROGRESS_FPS: '0',
}
const restic = (...args: string[]) => run(program, args, server, { environment, folder })
const succeeds = async (t: Test, ...args: string[]) => {
  const outcome = await restic(...args)
  t.equal(outcome.code, 0, args.join(' '), { stderr: outcome.stderr, stdout: outcome.stdout.slice(-2000) })
  return outcome.stdout
}
const snapshots = async (t: Test): Promise<{ short_id: string }[]> =>
  JSON.parse(await succeeds(t, 'snapshots', '--json'))

/** Files of every size that matters here: empty, a few bytes, inline and beyond it, and several of restic's packs. */
function writeFiles(round: string, count: number): void {
  for (let index = 0; index < count; index++) {
    const below = join(tree, `d${index % 23}`, `e${index % 7}`)
    mkdirSync(below, { recursive: true })
    const size = index % 50 === 0 ? 300_000 : index % 11 === 0 ? 0 : (index * 37) % 9000
    writeFileSync(join(below, `${round}-${index} ü.bin`), bytesOf(`${round}/${index}`, size))
  }
  writeFileSync(join(tree, `${round}-large.bin`), bytesOf(`${round}/large`, 20_000_000))
}

/** Blobs of the repository, without its index and configuration. */
async function storedBlobs() {
  const found = []
  for await (const { Contents = [] } of paginateListObjectsV2({ client: s3 }, { Bucket, Prefix: 'host/data/' })) {
    found.push(...Contents)
  }
  return found
}

async function storedBytes() {
  return (await storedBlobs()).reduce((sum, { Size = 0 }) => sum + Size, 0)
}

async function restored(t: Test, snapshot: string) {
  const target = join(folder, 'restored')
  rmSync(target, { recursive: true, force: true })
  await succeeds(t, 'restore', snapshot, '--target', target)
  return sorted(readTree(join(target, tree)))
}

t.test('restic', { skip }, async t => {
  let first: [string, string][] = []

  t.test('a repository is made, and only once', async t => {
    await succeeds(t, 'init')
    t.match((await restic('init')).stderr, /already exists|already initialized/)
  })

  t.test('two backups, each byte of which is read back', async t => {
    writeFiles('one', 2000)
    first = sorted(readTree(tree))
    t.match(await succeeds(t, 'backup', tree), /Files: +2001 new/)
    writeFiles('two', 300)
    for (const name of readdirSync(join(tree, 'd1'), { recursive: true, encoding: 'utf8' })) {
      if (name.includes('one-') && name.endsWith('.bin')) writeFileSync(join(tree, 'd1', name), 'changed')
    }
    t.match(await succeeds(t, 'backup', tree), /Files: +301 new, +\d{2,3} changed, +\d{4} unmodified/)
    t.equal((await snapshots(t)).length, 2)
    t.match(await succeeds(t, 'check', '--read-data'), /no errors were found/)
  })

  t.test('both snapshots restore the original files', async t => {
    const [older, newer] = await snapshots(t)
    t.strictSame(await restored(t, older!.short_id), first)
    t.strictSame(await restored(t, newer!.short_id), sorted(readTree(tree)))
  })

  t.test('forgetting and pruning removes only unused data', async t => {
    const sizeBefore = await storedBytes()
    t.match(await succeeds(t, 'forget', '--keep-last', '1', '--prune', '--max-unused', '0'), /remove 1 snapshots/)
    t.equal((await snapshots(t)).length, 1)
    t.match(await succeeds(t, 'check', '--read-data'), /no errors were found/)
    t.strictSame(await restored(t, 'latest'), sorted(readTree(tree)))
    t.ok((await storedBytes()) < sizeBefore, 'takes less room than before')
  })

  t.test('a server that dies twice during a backup has lost nothing that it said it had', async t => {
    writeFiles('three', 500)
    writeFileSync(join(tree, 'three-huge.bin'), bytesOf('three/huge', 90_000_000))
    // Packs this small, so that the end comes in the middle of many uploads.
    const args = ['backup', '-o', 's3.connections=3', '--pack-size', '4', tree]
    const backup = spawn(program, args, {
      env: { ...clientEnvironment(server), ...environment },
      cwd: folder,
      stdio: 'ignore',
    })
    t.teardown(() => backup.kill('SIGKILL'))
    const ended = new Promise<number | null>(done => backup.on('close', done))
    for (let life = 0; life < 2; life++) {
      const { length: before } = await storedBlobs()
      while ((await storedBlobs()).length < before + 6 && backup.exitCode === null) await sleep(5)
      t.equal(backup.exitCode, null, 'is in the middle of it')
      await server.kill()
      await server.start()
    }
    t.equal(await ended, 0, 'it retried what had no answer, and came to its end')
    t.equal((await snapshots(t)).length, 2)
    t.match(await succeeds(t, 'check', '--read-data'), /no errors were found/)
    t.strictSame(await restored(t, 'latest'), sorted(readTree(tree)))
  })

  t.test('its check is no formality: a blob that is gone is found', async t => {
    const { Key } = (await storedBlobs())[0]!
    await s3.send(new DeleteObjectCommand({ Bucket, Key }))
    t.not((await restic('check')).code, 0)
  })
})
