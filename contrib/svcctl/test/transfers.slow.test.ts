/** What must survive: killed processes, broken connections, wrong bytes, servers that want a pause. */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { temporaryFolder, until } from 'svc/testing'
import t, { type Test } from 'tap'
import { createBudget } from '../transfer/budget.ts'
import { choosePartBytes } from '../transfer/upload.ts'
import { ahead, workThrough } from '../transfer/work.ts'
import { startServer } from './server.ts'
import { createSession } from './session.ts'

const MIB = 1 << 20
const server = await startServer()
t.teardown(() => server.stop())
const session = createSession(temporaryFolder(t))
const { run, folder, configFolder } = session
const set = (name: string, endpoint: string) =>
  run(['alias', 'set', name, endpoint, 'admin'], { env: { SVCCTL_SECRET_KEY: 'change-me-please' } })
await set('home', server.endpoint)
const made = await run(['mb', 'home/bucket'])
if (made.code !== 0) throw new Error(made.stderr)

const sha256 = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')
const large = join(folder, 'large.bin')
writeFileSync(large, randomBytes(200 * MIB + 12_345))
const largeHash = sha256(large)
const largeBytes = statSync(large).size
const statesIn = (kind: string) => {
  try {
    // What a kill left of a note that had no name yet counts for nothing.
    return readdirSync(join(configFolder, kind)).filter(name => name.endsWith('.json'))
  } catch {
    return []
  }
}
const recordOf = async (t: Test, args: readonly string[]) => {
  const outcome = await run(['--json', ...args])
  t.equal(outcome.code, 0, args.join(' '), { stderr: outcome.stderr })
  return outcome.records.at(-1)!
}

/** Between a client and the server, at `bytesPerSecond` in each direction; `cut` breaks every connection. */
async function startThrottle(bytesPerSecond: number) {
  const sockets = new Set<{ destroy(): void }>()
  const port = Number(new URL(server.endpoint).port)
  let rate = bytesPerSecond
  const proxy = createServer(client => {
    const upstream = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', chunk => {
        from.pause()
        to.write(chunk)
        setTimeout(() => from.resume(), (chunk.length / rate) * 1000)
      })
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  await new Promise<void>(done => proxy.listen(0, '127.0.0.1', done))
  return {
    endpoint: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    faster() {
      rate = 1e12
    },
    stop() {
      for (const socket of sockets) socket.destroy()
      proxy.close()
    },
  }
}

t.test('an upload that is killed goes on where it was', async t => {
  const slow = await startThrottle(8 * MIB)
  t.teardown(() => slow.stop())
  await set('slow', slow.endpoint)
  const { child, ended } = session.spawn(['cp', 'large.bin', 'slow/bucket/up.bin'])
  const storedParts = async () => {
    const uploads = (await run(['--json', 'ls', '--incomplete', 'home/bucket'])).records
    const uploadId = uploads[0]?.uploadId
    if (uploadId === undefined) return 0
    const answer = await server.sendToS3({ method: 'GET', path: '/bucket/up.bin', query: `uploadId=${uploadId}` })
    return (await answer.text()).split('<PartNumber>').length - 1
  }
  await until(async () => (await storedParts()) >= 2, { what: 'two parts' })
  child.kill('SIGKILL')
  await ended
  t.equal((await run(['stat', 'home/bucket/up.bin'])).code, 3, 'nothing under the final key')
  t.equal(statesIn('uploads').length, 1)
  slow.faster()
  const record = await recordOf(t, ['cp', 'large.bin', 'slow/bucket/up.bin'])
  t.ok(Number(record.resumed) >= 2 * 16 * MIB, `${record.resumed} bytes were not sent again`)
  t.ok(Number(record.resumed) < largeBytes)
  t.same(statesIn('uploads'), [])
  t.equal((await run(['ls', '--incomplete', 'home/bucket'])).stdout, '')
  t.equal((await run(['cp', 'home/bucket/up.bin', 'up.back'])).code, 0)
  t.equal(sha256(join(folder, 'up.back')), largeHash)
})

t.test('a changed file does not continue the upload of the earlier content', async t => {
  const path = join(folder, 'changing.bin')
  writeFileSync(path, randomBytes(40 * MIB))
  const slow = await startThrottle(8 * MIB)
  t.teardown(() => slow.stop())
  await set('slow', slow.endpoint)
  const { child, ended } = session.spawn(['cp', 'changing.bin', 'slow/bucket/changing.bin'])
  await until(() => statesIn('uploads').length === 1, { what: 'a begun upload' })
  await sleep(300)
  child.kill('SIGKILL')
  await ended
  writeFileSync(path, randomBytes(40 * MIB))
  utimesSync(path, 1, 1)
  const record = await recordOf(t, ['cp', 'changing.bin', 'home/bucket/changing.bin'])
  t.equal(record.resumed, 0)
  await recordOf(t, ['cp', 'home/bucket/changing.bin', 'changing.back'])
  t.equal(sha256(join(folder, 'changing.back')), sha256(path))
  await run(['rm', '-r', '--incomplete', '--force', 'home/bucket'])
})

t.test('a download that is killed goes on, and there is no file before it is whole', async t => {
  const slow = await startThrottle(10 * MIB)
  t.teardown(() => slow.stop())
  await set('slow', slow.endpoint)
  const { child, ended } = session.spawn(['cp', 'slow/bucket/up.bin', 'down.bin'])
  const partial = () => readdirSync(folder).find(name => /^\.svcctl-[0-9a-f]{16}\.part$/.test(name))
  const note = () => {
    const [name] = statesIn('downloads')
    return name === undefined ? [] : JSON.parse(readFileSync(join(configFolder, 'downloads', name), 'utf8')).state.done
  }
  await until(() => note().length >= 2, { what: 'two ranges' })
  t.notOk(existsSync(join(folder, 'down.bin')))
  child.kill('SIGKILL')
  await ended
  t.ok(partial())
  t.notOk(existsSync(join(folder, 'down.bin')))
  slow.faster()
  const record = await recordOf(t, ['cp', 'slow/bucket/up.bin', 'down.bin'])
  t.ok(Number(record.resumed) >= 2 * 16 * MIB, `${record.resumed} bytes were not fetched again`)
  t.equal(record.verifiedBy, 'CRC32')
  t.equal(sha256(join(folder, 'down.bin')), largeHash)
  t.equal(partial(), undefined)
  t.same(statesIn('downloads'), [])
})

t.test('bytes that rot in an unfinished file are found, and the next run starts again', async t => {
  const slow = await startThrottle(10 * MIB)
  t.teardown(() => slow.stop())
  await set('slow', slow.endpoint)
  const { child, ended } = session.spawn(['cp', 'slow/bucket/up.bin', 'rotten.bin'])
  await until(() => statesIn('downloads').length === 1, { what: 'a range' })
  child.kill('SIGKILL')
  await ended
  const [state] = statesIn('downloads')
  const first = JSON.parse(readFileSync(join(configFolder, 'downloads', state!), 'utf8')).state.done[0] as number
  const name = readdirSync(folder).find(name => name.endsWith('.part'))!
  const bytes = readFileSync(join(folder, name))
  bytes[first * 16 * MIB + 5]! ^= 1
  writeFileSync(join(folder, name), bytes)
  const outcome = await run(['cp', 'home/bucket/up.bin', 'other.bin'])
  t.equal(outcome.code, 0, 'another file is another download')
  slow.faster()
  const found = await run(['--json', 'cp', 'slow/bucket/up.bin', 'rotten.bin'])
  t.equal(found.code, 1)
  t.equal(found.error.code, 'checksum_mismatch')
  t.notOk(existsSync(join(folder, 'rotten.bin')))
  t.equal((await recordOf(t, ['cp', 'slow/bucket/up.bin', 'rotten.bin'])).resumed, 0)
  t.equal(sha256(join(folder, 'rotten.bin')), largeHash)
})

t.test('connections that break in between are made again', async t => {
  const slow = await startThrottle(40 * MIB)
  t.teardown(() => slow.stop())
  await set('slow', slow.endpoint)
  let cutCount = 0
  const timer = setInterval(() => {
    if (cutCount++ < 3) slow.cut()
    else slow.faster()
  }, 700)
  t.teardown(() => clearInterval(timer))
  await recordOf(t, ['cp', 'slow/bucket/up.bin', 'broken.bin'])
  t.equal(sha256(join(folder, 'broken.bin')), largeHash)
  cutCount = 0
  await recordOf(t, ['cp', 'large.bin', 'slow/bucket/broken-up.bin'])
  t.equal((await run(['stat', '--json', 'home/bucket/broken-up.bin'])).records[0]!.size, largeBytes)
  t.ok(cutCount > 0)
})

t.test('an interruption ends at once with 130, and leaves no file', async t => {
  const slow = await startThrottle(2 * MIB)
  t.teardown(() => slow.stop())
  await set('slow', slow.endpoint)
  const stop = new AbortController()
  setTimeout(() => stop.abort(), 500)
  const outcome = await run(['cp', 'slow/bucket/up.bin', 'interrupted.bin'], { signal: stop.signal })
  t.equal(outcome.code, 130)
  t.match(outcome.stderr, /goes on with large files/)
  t.notOk(existsSync(join(folder, 'interrupted.bin')))
})

t.test('from server to server, and through pipes of unknown length', async t => {
  const other = await startServer()
  t.teardown(() => other.stop())
  await set('other', other.endpoint)
  await run(['mb', 'other/copies'])
  const record = await recordOf(t, ['cp', '--attr', 'kind=film', 'home/bucket/up.bin', 'other/copies/up.bin'])
  t.equal(record.size, largeBytes)
  t.match(await recordOf(t, ['stat', 'other/copies/up.bin']), { size: largeBytes, metadata: { kind: 'film' } })
  await recordOf(t, ['cp', 'other/copies/up.bin', 'two-servers.bin'])
  t.equal(sha256(join(folder, 'two-servers.bin')), largeHash)
  const input = readFileSync(large).subarray(0, 40 * MIB + 1)
  t.equal((await run(['cp', '-', 'home/bucket/piped'], { input })).code, 0)
  t.equal((await recordOf(t, ['stat', 'home/bucket/piped'])).size, input.length)
  await recordOf(t, ['cp', 'home/bucket/piped', 'piped.back'])
  t.ok(readFileSync(join(folder, 'piped.back')).equals(input))
  t.equal((await run(['cp', '-', 'home/bucket/nothing'], { input: '' })).code, 0)
  t.equal((await recordOf(t, ['stat', 'home/bucket/nothing'])).size, 0)
  for (const name of ['x', 'y/z']) {
    mkdirSync(join(folder, 'both/y'), { recursive: true })
    writeFileSync(join(folder, 'both', name), name)
  }
  await run(['cp', '-r', 'both', 'home/bucket/both'])
  await run(['mirror', 'home/bucket/both', 'other/copies/both'])
  t.equal((await run(['--json', 'ls', '-r', 'other/copies/both'])).records.length, 2)
  t.equal((await run(['--json', 'mirror', 'home/bucket/both', 'other/copies/both'])).stdout, '')
})

/** A server that answers as it is told, for what no right one does. */
async function startFake(t: Test, listener: RequestListener): Promise<string> {
  const fake = createHttpServer(listener)
  await new Promise<void>(done => fake.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    fake.closeAllConnections()
    fake.close()
  })
  return `http://127.0.0.1:${(fake.address() as AddressInfo).port}`
}

t.test('a requested pause is made before a retry; corrupt data is never kept', async t => {
  const body = Buffer.from('what was asked for')
  const etag = `"${createHash('md5').update(body).digest('hex')}"`
  const seen: string[] = []
  let mood = 'busy'
  const endpoint = await startFake(t, (request, response) => {
    seen.push(`${request.method} ${mood}`)
    request.resume()
    if (request.url === '/') return void response.end('<ListAllMyBucketsResult/>')
    const headers = { etag, 'last-modified': 'Sat, 01 Jan 2000 00:00:00 GMT' }
    if (mood === 'busy') {
      mood = 'reset'
      response.writeHead(503).end('<Error><Code>SlowDown</Code><Message>later</Message></Error>')
    } else if (mood === 'reset') {
      mood = 'good'
      request.socket.destroy()
    } else if (mood === 'good')
      response
        .writeHead(200, { ...headers, 'content-length': body.length })
        .end(request.method === 'HEAD' ? undefined : body)
    else if (mood === 'flipped')
      response
        .writeHead(200, { ...headers, 'content-length': body.length })
        .end(request.method === 'HEAD' ? undefined : 'what was ASKED for')
    else if (mood === 'short') {
      response.writeHead(200, { ...headers, 'content-length': body.length })
      if (request.method === 'HEAD') return void response.end()
      response.write('what')
      setTimeout(() => response.destroy(), 20)
    } else if (mood === 'bomb')
      response.writeHead(200).end(`<!DOCTYPE x [<!ENTITY a "b">]><ListBucketResult>&a;</ListBucketResult>`)
    else if (mood === 'endless') {
      response.writeHead(200)
      const piece = Buffer.alloc(MIB, ' ')
      const more = () => response.write(piece, error => error ?? more())
      more()
    } else response.writeHead(403).end('<Error><Code>AccessDenied</Code><Message>no</Message></Error>')
  })
  t.equal((await set('fake', endpoint)).code, 0)
  seen.length = 0
  t.equal((await run(['cp', 'fake/x/y', 'fake.txt'])).code, 0)
  t.same(seen, ['HEAD busy', 'HEAD reset', 'HEAD good', 'GET good'])
  t.equal(readFileSync(join(folder, 'fake.txt'), 'utf8'), String(body))
  mood = 'flipped'
  const flipped = await run(['--json', 'cp', 'fake/x/y', 'flipped.txt'])
  t.equal(flipped.code, 1)
  t.equal(flipped.error.code, 'checksum_mismatch')
  t.notOk(existsSync(join(folder, 'flipped.txt')))
  t.equal((await run(['cat', 'fake/x/y'])).code, 1, 'cat says so as well')
  mood = 'short'
  t.equal((await run(['cp', 'fake/x/y', 'short.txt'])).code, 1)
  t.notOk(existsSync(join(folder, 'short.txt')))
  mood = 'bomb'
  t.match((await run(['ls', 'fake/x'])).stderr, /document type/)
  mood = 'endless'
  t.match((await run(['ls', 'fake/x'])).stderr, /larger than any document/)
  mood = 'refusing'
  seen.length = 0
  t.equal((await run(['ls', 'fake/x'])).code, 4)
  t.equal(seen.length, 1, 'a refusal is not asked for again')
  t.same(readdirSync(folder).filter(name => name.endsWith('.part')).length <= 1, true)
})

t.test('progress shows on a terminal alone', async t => {
  const slow = await startThrottle(20 * MIB)
  t.teardown(() => slow.stop())
  await set('slow', slow.endpoint)
  const seen = await run(['cp', 'large.bin', 'slow/bucket/shown'], { isTTY: true })
  t.match(seen.stderr, /%.* of 200 MiB.* MiB\/s.*s left/)
  const quiet = await run(['-q', 'cp', 'large.bin', 'home/bucket/shown'], { isTTY: true })
  t.equal(quiet.stderr, '')
})

t.test('bounds', async t => {
  const budget = createBudget(100, 3)
  const first = await budget.acquire(60)
  const order: string[] = []
  const second = budget.acquire(60).then(lease => {
    order.push('second')
    return lease
  })
  const third = budget.acquire(10).then(lease => {
    order.push('third')
    return lease
  })
  await sleep(5)
  t.same(order, [], 'first come, first served')
  first.release()
  ;(await second).release()
  ;(await third).release()
  t.same(order, ['second', 'third'])
  const alone = await budget.acquire(1000)
  t.equal(alone.buffer.length, 1000, 'larger than the whole: alone')
  alone.release()

  t.equal(choosePartBytes(17 * MIB, undefined), 16 * MIB)
  t.ok(choosePartBytes(5 * 1024 * 1024 * MIB, undefined) * 10_000 >= 5 * 1024 * 1024 * MIB)
  t.throws(() => choosePartBytes(6 * 1024 * 1024 * MIB, undefined), /5 TiB/)

  async function* numbers() {
    for (let number = 0; number < 1000; number++) yield number
  }
  let running = 0
  let most = 0
  let sum = 0
  await workThrough(
    ahead(numbers(), 10, () => undefined),
    4,
    async number => {
      most = Math.max(most, ++running)
      await setImmediate()
      sum += number
      running--
    },
  )
  t.equal(sum, 499_500)
  t.equal(most, 4)
  await t.rejects(
    workThrough(
      ahead(numbers(), 10, () => undefined),
      4,
      async number => {
        if (number === 7) throw new Error('seven')
      },
    ),
    /seven/,
  )
})
