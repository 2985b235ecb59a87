import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createSecureServer } from 'node:http2'
import { type AddressInfo, createServer as createRawServer, type Server } from 'node:net'
import { join } from 'node:path'
import { test } from 'tap'
import { type CpuProfile, summarizeProfile } from '../cpu-profile.ts'
import { startLoadClient } from '../load-client.ts'
import { openConnection } from '../load-connection.ts'
import { type LoadPlan, targetOf } from '../load-plan.ts'
import { cpuSeconds, memoryOf } from '../machine.ts'
import { type Options, parseOptions } from '../options.ts'
import { createFigure } from '../report.ts'
import { redundancyOf } from '../sets.ts'
import { median, percentile } from '../statistics.ts'

async function listen(server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

test('medians and percentiles take the nearest rank', async t => {
  t.equal(median([3, 1, 2]), 2)
  t.equal(median([4, 1, 2, 3]), 2.5)
  const sorted = Array.from({ length: 100 }, (_, index) => index + 1)
  t.equal(percentile(sorted, 0.5), 50)
  t.equal(percentile(sorted, 0.99), 99)
  t.equal(percentile([7], 0.99), 7)
})

test('a goal is judged by the median', async t => {
  const input = { subject: 'server', name: 'CPU', unit: 'µs', samples: [10, 90, 20] }
  t.equal(createFigure('s', 0, { ...input, goal: { relation: '<=', value: 20 } }).isGoalMet, true)
  t.equal(createFigure('s', 0, { ...input, goal: { relation: '>=', value: 21 } }).isGoalMet, false)
})

test('sizes are options, and what is no number is refused', async t => {
  const names = ['list', 'rebuild']
  const options = parseOptions(['--only', 'list,rebuild', '--keys', '300000', '--bytes', '1.5GiB'], names)
  t.match(options, { only: names, keys: 300_000, bytes: 1.5 * 2 ** 30 })
  t.match(parseOptions([], names), { keys: undefined, bytes: undefined })
  t.match(parseOptions(['--peer', 'http://127.0.0.1:9000', '--peer-pid', '7,8'], names), {
    peer: { host: '127.0.0.1', port: 9000, pids: [7, 8] },
  })
  for (const url of ['https://a', 'http://a/b', 'a:9000'])
    t.throws(() => parseOptions(['--peer', url], names), /such as/)
  t.throws(() => parseOptions(['--peer-pid=7'], names), /goes with --peer/)
  t.throws(() => parseOptions(['--peer=http://a', '--peer-pid=x'], names), /ids of processes/)
  for (const keys of ['0', '-1', '1.5', 'many']) t.throws(() => parseOptions([`--keys=${keys}`], names), /--keys takes/)
  t.equal((parseOptions(['--minutes', '30'], names) as Options).minutes, 30)
  for (const minutes of ['0', '1.5', 'long']) t.throws(() => parseOptions([`--minutes=${minutes}`], names), /--minutes/)
  t.throws(() => parseOptions(['--bytes', 'much'], names), /--bytes is not a size/)
})

test('what a set says of its redundancy is added up, and nothing said is not nothing missing', async t => {
  const text = [
    '# HELP svc_redundancy_records Versions.',
    'svc_redundancy_records{pool="0",set="0"} 5002',
    'svc_redundancy_below_target_records{pool="0",set="0"} 17',
    'svc_redundancy_below_target_records_other 1',
    'svc_drive_healing{drive="/a"} 1',
    'svc_drive_healing{drive="/b"} 1',
    'svc_heal_failed_total 3',
  ]
  t.same(redundancyOf(text.join('\n')), { records: 5002, below: 17, healingCount: 2, failedCount: 3 })
  t.throws(() => redundancyOf(text.filter(line => !line.includes('below_target_records{')).join('\n')), /no figure/)
})

test('CPU and memory of a process come from /proc', async t => {
  const before = cpuSeconds([process.pid])
  const usageBefore = process.cpuUsage()
  let expected = 0
  while (expected < 0.2) {
    const { user, system } = process.cpuUsage(usageBefore)
    expected = (user + system) / 1e6
  }
  const used = cpuSeconds([process.pid]) - before
  // Two fields in ticks of 10 ms, read twice.
  t.ok(Math.abs(used - expected) < 0.05, `used ${used} s, expected ${expected} s`)
  const { residentBytes, mappedBytes } = memoryOf(process.pid, process.execPath)
  t.ok(residentBytes > 2e7)
  t.ok(mappedBytes > 1e6 && mappedBytes < residentBytes, 'the executable is mapped')
})

test('answers are read whole, however the bytes are cut', async t => {
  const answers = [
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: "abc"\r\n\r\nhello',
    'HTTP/1.1 204 No Content\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwiki\r\nb;x=y\r\n0123456789\r\r\n0\r\nx-trailer: 1\r\n\r\n',
    'HTTP/1.1 503 Slow Down\r\ncontent-length: 0\r\n\r\n',
  ]
  for (const pieceSize of [1, 3, 7, 1000]) {
    const server = createRawServer(socket => {
      socket.on('data', request => {
        const bytes = Buffer.from(answers[Number(request)])
        let position = 0
        const next = (): void => {
          if (position >= bytes.length) return
          socket.write(bytes.subarray(position, position + pieceSize), () => setImmediate(next))
          position += pieceSize
        }
        next()
      })
    })
    const port = await listen(server)
    const seen: [number, number][] = []
    const done = Promise.withResolvers<void>()
    const connection = await openConnection(
      { host: '127.0.0.1', port },
      { receiveBytes: 1024, outgoing: Buffer.alloc(0) },
      (answered, status) => {
        seen.push([status, answered.receivedBodyBytes])
        if (seen.length === answers.length) done.resolve()
        else answered.send(Buffer.from(String(seen.length)))
      },
      (_, error) => done.reject(error),
    )
    connection.send(Buffer.from('0'))
    await done.promise
    t.same(seen, [
      [200, 5],
      [204, 5],
      [200, 20],
      [503, 20],
    ])
    connection.close()
    server.close()
  }
})

test('the load generator sends every request once, whole, and stops at an error', async t => {
  const requests: { url: string; size: number; authorization: string }[] = []
  let status = 200
  let closes = false
  const server = createServer((request, response) => {
    let size = 0
    request.on('data', chunk => {
      size += chunk.length
    })
    request.on('end', () => {
      requests.push({ url: request.url!, size, authorization: request.headers.authorization! })
      if (closes) response.setHeader('connection', 'close')
      response.writeHead(status, { etag: `"${request.url}"`, 'content-length': 3 }).end('abc')
    })
  })
  const port = await listen(server)
  const client = startLoadClient()
  t.teardown(async () => {
    await client.stop()
    server.close()
  })
  const plan: LoadPlan = {
    host: '127.0.0.1',
    port,
    credentials: { accessKey: 'someone', secretKey: 'secret' },
    signedHost: `127.0.0.1:${port}`,
    method: 'PUT',
    targets: { bucket: 'b', first: 10, count: 50 },
    bodySizeBytes: 1000,
    connectionCount: 4,
    receiveBufferBytes: 4096,
  }
  await client.prepare(plan)
  const result = await client.run({ requestCountMax: 50, timeMsMax: 10_000, wantsEtags: true })
  t.match(result, { requestCount: 50, sentBodyBytes: 50_000, receivedBodyBytes: 150 })
  const expected = Array.from({ length: 50 }, (_, index) => targetOf('b', 10 + index))
  t.same(requests.map(({ url }) => url).sort(), expected.toSorted())
  t.same(result.etags, expected, 'ETags are in the order of the requests')
  t.ok(requests.every(({ size }) => size === 1000))
  t.match(requests[0].authorization, /^AWS4-HMAC-SHA256 Credential=someone\/\d{8}\/us-east-1\/s3\/aws4_request, /)

  requests.length = 0
  await client.prepare({ ...plan, targets: ['/b/large'], bodySizeBytes: 3_000_001, connectionCount: 1 })
  await client.run({ requestCountMax: 2, timeMsMax: 10_000 })
  t.same(
    requests.map(({ size }) => size),
    [3_000_001, 3_000_001],
  )

  requests.length = 0
  closes = true
  await client.prepare(plan)
  const closed = await client.run({ requestCountMax: 50, timeMsMax: 10_000 })
  t.match(closed, { requestCount: 50, receivedBodyBytes: 150 }, 'with a connection for each')
  t.same(requests.map(({ url }) => url).sort(), expected.toSorted())
  closes = false

  status = 503
  await t.rejects(client.run({ requestCountMax: 2, timeMsMax: 10_000 }), /503/)
})

test('the load generator speaks TLS, with HTTP/1.1 and with HTTP/2', async t => {
  const folder = t.testdir()
  const [key, cert] = ['key.pem', 'cert.pem'].map(name => join(folder, name)) as [string, string]
  const kind = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=localhost',
  ]
  execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const requests: string[] = []
  const pair = { key: readFileSync(key), cert: readFileSync(cert) }
  const server = createSecureServer({ ...pair, allowHTTP1: true }, async (request, response) => {
    let size = 0
    for await (const part of request) size += part.length
    requests.push([request.httpVersion, request.headers.host ?? request.authority, request.url, size].join(' '))
    response.writeHead(200, { etag: `"${request.url}"`, 'content-length': 3 })
    response.end('abc')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const client = startLoadClient()
  t.teardown(async () => {
    await client.stop()
    server.close()
  })
  const common = { host: '127.0.0.1', port, signedHost: 'host.test', receiveBufferBytes: 4096, connectionCount: 2 }
  const targets = ['/b/1', '/b/2', '/b/3']
  for (const [protocol, version] of [
    ['https', '1.1'],
    ['h2', '2.0'],
  ] as const) {
    for (const [method, bodySizeBytes] of [
      ['PUT', 1000],
      ['GET', 0],
    ] as const) {
      requests.length = 0
      await client.prepare({ ...common, credentials: undefined, targets, method, bodySizeBytes, protocol })
      const result = await client.run({ requestCountMax: 3, timeMsMax: 10_000, wantsEtags: true })
      t.match(result, { requestCount: 3, receivedBodyBytes: 9, etags: targets.map(target => new RegExp(target)) })
      t.same(
        requests.toSorted(),
        targets.map(target => `${version} host.test ${target} ${bodySizeBytes}`),
      )
    }
  }
})

test('a profile is summed up between two times, and recursion counts once', async t => {
  const frame = (functionName: string, lineNumber = 0) => ({ functionName, url: 'file:///x.ts', lineNumber })
  const profile: CpuProfile = {
    nodes: [
      { id: 1, callFrame: { functionName: '(root)', url: '', lineNumber: -1 }, children: [2, 5] },
      { id: 2, callFrame: frame('outer', 3), children: [3] },
      { id: 3, callFrame: frame('inner', 9), children: [4] },
      { id: 4, callFrame: frame('outer', 3) },
      { id: 5, callFrame: { functionName: '(idle)', url: '', lineNumber: -1 } },
    ],
    startTime: 1000,
    samples: [2, 2, 3, 4, 5, 2],
    timeDeltas: [0, 10, 10, 10, 10, 100],
  }
  const { functions, busyMicros, idleMicros } = summarizeProfile(profile, 1005, 9999)
  t.equal(idleMicros, 100)
  t.equal(busyMicros, 30)
  const outer = functions.find(({ name }) => name === 'outer')
  t.match(outer, { place: '/x.ts:4', selfMicros: 20, totalMicros: 30 })
  t.match(
    functions.find(({ name }) => name === 'inner'),
    { selfMicros: 10, totalMicros: 20 },
  )
})
