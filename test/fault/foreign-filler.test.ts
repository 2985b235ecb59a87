/**
 * Somebody else fills the file system to the last byte, again and again, while the server is busy: reads, listings, deletes and
 * restarts go on, new writes are refused with 507, and when there is room again everything goes on without a restart.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from 'svc/testing'
import t from 'tap'
import { mountSmallDisk } from '../services/small-disk.ts'
import { bytesOf } from '../wire/clients.ts'
import { startServer, type TestServer } from '../wire/server.ts'
import { createSignedClient } from '../wire/signed-client.ts'
import { AnswerError, createOperations } from './operations.ts'

// Minutes on a machine that is busy with other tests; a file that runs into the limit ends the whole run.
t.setTimeout(600_000)
const mountedBytes = 512 << 20
const ballastBytes = 32 << 20
const reservedBytes = 4 << 20
const { folder: mount, skip } = mountSmallDisk(t, mountedBytes)

const filler = join(mount, 'filler')

/** Takes all that there is and, where it is greedy, whatever is given back meanwhile. */
function startFilling(): ChildProcess {
  const script = `while :; do dd if=/dev/zero of="$0" bs=64k oflag=append conv=notrunc; sleep 0.02; done`
  return spawn('sh', ['-c', script, filler], { stdio: 'ignore' })
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

t.test('the drive is filled by another program', { skip }, async t => {
  const drive = join(mount, 'drive')
  mkdirSync(drive)
  const server: TestServer = await startServer({ drive })
  const client = createSignedClient(server.port)
  let filling: ChildProcess | undefined
  t.teardown(async () => {
    filling?.kill('SIGKILL')
    client.disconnect()
    await server.remove()
    rmSync(filler, { force: true })
    rmSync(drive, { recursive: true, force: true })
  })
  const s3 = createOperations(client, 'filler')
  await s3.createBucket()

  const stored = new Map<string, Buffer>()
  const put = async (key: string, size: number) => {
    const body = bytesOf(key, size)
    await s3.put(key, body)
    stored.set(key, body)
  }
  const isRefused = (error: unknown) => error instanceof AnswerError && error.status === 507
  const tryPut = async (key: string, size: number) => {
    try {
      await put(key, size)
      return true
    } catch (error) {
      if (isRefused(error)) return false
      throw error
    }
  }
  const remove = async (key: string) => {
    await s3.remove(key)
    stored.delete(key)
  }
  const intact = async (what: string) => {
    const listed = await s3.list()
    t.same([...listed.keys()].sort(), [...stored.keys()].sort(), `${what}: everything and nothing else is listed`)
    let wrong = 0
    for (const [key, body] of stored) if (!(await s3.get(key))?.equals(body)) wrong++
    t.equal(wrong, 0, `${what}: ${stored.size} objects are what they were`)
  }
  const someKeys = (count: number) => [...stored.keys()].filter(key => key.startsWith('base')).slice(0, count)

  await until(() => sizeOf(join(drive, 'ballast')) === ballastBytes, { what: 'the ballast is taken' })
  await until(() => sizeOf(join(drive, 'journal/0000000002')) >= reservedBytes, {
    what: 'the next segment has its space',
  })
  for (let i = 0; i < 300; i++) await put(`base/${i}`, i % 30 === 0 ? 300_000 : 2000)

  // Busy when it happens: small and large objects, deletes, listings.
  let isBusy = true
  const problems: unknown[] = []
  const work = async (run: (round: number) => Promise<unknown>) => {
    for (let round = 0; isBusy; round++) {
      try {
        await run(round)
      } catch (error) {
        problems.push(error)
        isBusy = false
      }
    }
  }
  const refusals = { small: 0, large: 0 }
  let writing = ''
  let removing = ''
  const working = [
    work(async round => {
      const key = `small/${round % 50}`
      // Of two changes of one key at once nobody here knows which comes last.
      if (removing === key) return sleep(1)
      writing = key
      if (!(await tryPut(key, 3000))) refusals.small++
      writing = ''
    }),
    work(async round => {
      if (!(await tryPut(`large/${round % 5}`, 400_000))) refusals.large++
    }),
    work(async round => {
      const key = `small/${(round * 7) % 50}`
      if (!stored.has(key) || writing === key) return sleep(5)
      removing = key
      await remove(key)
      removing = ''
    }),
    work(() => s3.list()),
    work(async () => {
      if ((await s3.get('base/1')) === undefined) throw new Error('base/1 is gone')
    }),
  ]
  await sleep(500)
  filling = startFilling()
  await until(() => (refusals.small > 3 && refusals.large > 3) || !isBusy, { what: 'new writes are refused' })
  await sleep(2000)
  isBusy = false
  await Promise.all(working)
  t.same(problems, [], 'nothing was refused but new data')
  await intact('filled while busy')
  t.match(server.log(), 'the journal goes on in its next segment')

  for (const key of someKeys(60)) await remove(key)
  t.notOk(await tryPut('no-room', 100))
  await intact('after deletes')

  await server.kill()
  client.disconnect()
  await server.start()
  t.equal(statfsSync(mount).bavail < 300, true, 'the drive is still full')
  await intact('after a crash')
  for (const key of someKeys(60)) await remove(key)
  await s3.remove('never-there')
  t.notOk(await tryPut('no-room', 100_000))
  await intact('after a crash and deletes')

  client.disconnect()
  t.equal(await server.stop(), 0, 'a stop on a full drive is a clean one')
  await server.start()
  await remove(someKeys(1)[0]!)
  await intact('after a restart')

  filling.kill('SIGKILL')
  await new Promise(done => filling!.once('close', done))
  rmSync(filler)
  await until(() => tryPut('room', 300_000), { what: 'new writes are taken' })
  await until(() => sizeOf(join(drive, 'ballast')) === ballastBytes, { what: 'the ballast is taken again' })
  await intact('with room again')
  t.equal(await server.stop(), 0)
})
