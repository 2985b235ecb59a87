/** Drives with file systems of their own: an empty one is taken into the running set, and one that is only not mounted is never filled. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import t from 'tap'
import { createAdminClient } from '../wire/admin.ts'
import { bytesOf } from '../wire/clients.ts'
import { createClient } from '../wire/sdk.ts'
import { dryRun, startServer } from '../wire/server.ts'

const Bucket = 'kept'
const sizes = [100, 5000, 120_000, 700_000, 3_000_000]
const folder = mkdtempSync(join(tmpdir(), 'svc-replaced-'))
const drive = (number: number) => join(folder, `d${number}`)
/** Where file systems are that drives are bound to: what is bound no more can be bound again. */
const source = (name: string) => join(folder, 'sources', name)
const run = (command: string, ...args: string[]) => execFileSync(command, args, { stdio: 'pipe' })
const bound = new Set<number>()

function bind(number: number, name: string): void {
  const from = source(name)
  mkdirSync(from, { recursive: true })
  if (!mounted.has(name)) run('mount', '-t', 'tmpfs', '-o', 'size=200m', 'tmpfs', from)
  mounted.add(name)
  run('mount', '--bind', from, drive(number))
  bound.add(number)
}
const mounted = new Set<string>()

/** What still has files of it open keeps it busy. */
async function unmount(path: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      run('umount', path)
      return
    } catch (error) {
      if (tries === 100) throw error
    }
    await sleep(200)
  }
}

function unbind(number: number): void {
  run('umount', '-l', drive(number))
  bound.delete(number)
}

let skip: string | false = false
try {
  for (const number of [1, 2, 3, 4]) {
    mkdirSync(drive(number))
    bind(number, `first-${number}`)
  }
} catch (error) {
  if (process.env.CI && process.getuid?.() === 0) throw error
  skip = 'file systems can be mounted by root alone'
}
t.teardown(() => {
  for (const number of bound) run('umount', '-l', drive(number))
  for (const name of mounted) run('umount', '-l', source(name))
  rmSync(folder, { recursive: true, force: true })
})

t.test('drives are replaced while the server runs', { skip }, async t => {
  const server = await startServer({ drive: join(folder, 'd{1...4}') })
  t.teardown(() => server.stop())
  const s3 = createClient(server)
  t.teardown(() => s3.destroy())
  const redundancy = () => createAdminClient(server).call('GET', '/redundancy')
  const until = async (what: string, isSo: (answer: Awaited<ReturnType<typeof redundancy>>) => boolean) => {
    let answer: Awaited<ReturnType<typeof redundancy>>
    for (let tries = 0; tries < 450; tries++) {
      answer = await redundancy()
      if (isSo(answer)) return t.pass(what)
      await sleep(200)
    }
    return t.fail(`${what}: not within a minute`, { answer })
  }
  const keys: string[] = []
  const put = async (round: string) => {
    const added = sizes.map(size => `${round}/${size}`)
    await Promise.all(
      added.map((Key, i) => s3.send(new PutObjectCommand({ Bucket, Key, Body: bytesOf(Key, sizes[i]!) }))),
    )
    keys.push(...added)
  }
  const verify = async (what: string) => {
    const wrong: string[] = []
    for (const Key of keys) {
      try {
        const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }))
        const bytes = Buffer.from(await Body!.transformToByteArray())
        if (!bytes.equals(bytesOf(Key, Number(Key.split('/').at(-1))))) wrong.push(Key)
      } catch (error) {
        wrong.push(`${Key}: ${(error as Error).message}`)
      }
    }
    t.strictSame(wrong, [], `${what}: every object is what it was`)
  }
  await s3.send(new CreateBucketCommand({ Bucket }))
  await put('first')

  // Pulled: what is below is an empty folder of the file system of its parent.
  unbind(2)
  await until('the drive is missed', ({ sets }) => sets[0].online === 3)
  await unmount(source('first-2'))
  mounted.delete('first-2')
  t.pass('the server has closed its files: the disk is free')
  await put('without')
  await sleep(6000)
  t.strictSame(readdirSync(drive(2)), [], 'nothing is written into a folder that is not mounted')
  bind(2, 'new-2')
  await until('the new one is taken in and filled', ({ isFull }) => isFull)
  await put('with the new one')

  // The shards on the new drive are enough with one more.
  for (const number of [1, 3]) unbind(number)
  await until('two are away', ({ sets }) => sets[0].online === 2)
  await verify('from the new drive and another one')
  for (const number of [1, 3]) bind(number, `first-${number}`)
  await until('they are back', ({ isFull }) => isFull)

  // Two at once: what is left is enough to read, and not to write.
  for (const number of [1, 4]) unbind(number)
  await until('two are missed', ({ sets }) => sets[0].online === 2)
  for (const number of [1, 4]) bind(number, `second-${number}`)
  await until('both are replaced', ({ isFull }) => isFull)
  await put('with both')

  // Exchanged for a moment: what is written meanwhile lies where it belongs, or is refused.
  for (const number of [2, 3]) unbind(number)
  bind(2, 'first-3')
  bind(3, 'new-2')
  await put('exchanged').catch(error => t.match(error, { $metadata: { httpStatusCode: 503 } }))
  for (const number of [2, 3]) unbind(number)
  bind(2, 'new-2')
  bind(3, 'first-3')
  await sleep(6000)
  await until('they are where they belong', ({ isFull }) => isFull)
  const job = await createAdminClient(server).call('POST', '/heal', { recursive: true, deep: true, dryRun: true })
  let ended = job
  for (; !ended.finished; ended = await createAdminClient(server).call('GET', `/heal/${job.id}`)) await sleep(100)
  t.match(ended, { state: 'completed', damaged: 0, failed: 0 }, 'and everything is there, as it was said')
  await verify('after that')

  // Read-only, as a file system that its kernel has given up on.
  unbind(3)
  bind(3, 'first-3')
  run('mount', '-o', 'remount,ro,bind', drive(3))
  await put('without the one that is read-only')
  await until('it is missed', ({ sets, isFull }) => sets[0].online === 3 && !isFull)
  await put('still without it')
  await verify('from the others')
  await unmount(drive(3))
  bound.delete(3)
  t.pass('a drive that has failed can be unmounted, not only lazily')
  bind(3, 'first-3')
  await until('it is taken back', ({ isFull }) => isFull)
  await verify('with it')

  // The same at a start.
  t.equal(await server.stop(), 0)
  run('mount', '-o', 'remount,ro,bind', drive(1))
  await server.start()
  await until('the start goes on without the one that is read-only', ({ sets }) => sets[0].online === 3)
  await put('started without it')
  run('mount', '-o', 'remount,rw,bind', drive(1))
  await until('it is opened', ({ isFull }) => isFull)
  await verify('with all of them')

  // Not mounted at a start.
  t.equal(await server.stop(), 0)
  unbind(4)
  t.match(dryRun(join(folder, 'd{1...4}')), /d4 is empty and no file system of its own.*mount it/s)
  await server.start()
  await until('the start goes on without it', ({ sets }) => sets[0].online === 3)
  const { nodes } = await createAdminClient(server).call('GET', '/info')
  t.match(nodes[0].disks[3], { state: 'offline', error: /is empty.*mount it/ })
  t.strictSame(readdirSync(drive(4)), [])
  bind(4, 'second-4')
  await until('and takes it back', ({ isFull }) => isFull)
  await verify('at the end')
})
