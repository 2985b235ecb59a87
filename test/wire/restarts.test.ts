/** Restarts under load: commands that retry, as people set them up, see no error, and what was acknowledged is there. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findLastingPort } from 'svc/testing'
import t from 'tap'
import { createAdminClient } from './admin.ts'
import { bytesOf, requireProgram, run, sha256 } from './clients.ts'
import { startServer, workerCount } from './server.ts'

t.setTimeout(900_000)
const { path: program, skip } = requireProgram('aws')
const restartCount = process.env.TEST_LONG === undefined ? 3 : 10
const laneCount = 3
/** In one part, and in several at a time. */
const sizes = [0, 5000, 300_000, 20_000_000]
const bucket = 'restarts'

t.test(`${restartCount} restarts, ${workerCount} workers`, { skip }, async t => {
  // The same ports each time: a client knows no others.
  const [port, consolePort] = await Promise.all([findLastingPort(), findLastingPort()])
  const server = await startServer({
    environment: { SVC_ADDRESS: `127.0.0.1:${port}`, SVC_CONSOLE_ADDRESS: `127.0.0.1:${consolePort}` },
  })
  t.teardown(() => server.remove())
  const folder = join(server.folder, 'files')
  mkdirSync(folder)
  for (const size of sizes) writeFileSync(join(folder, `${size}`), bytesOf(`${size}`, size))
  const environment = { AWS_RETRY_MODE: 'standard', AWS_MAX_ATTEMPTS: '10' }
  const aws = async (...args: string[]) => {
    const outcome = await run(program, ['--endpoint-url', server.endpoint, ...args], server, { folder, environment })
    if (outcome.code !== 0) throw new Error(`aws ${args.join(' ')}: ${outcome.stderr}`)
    return outcome.stdout
  }
  await aws('s3', 'mb', `s3://${bucket}`)

  const stored = new Map<string, number>()
  let isOver = false
  const work = async (lane: number) => {
    for (let count = 0; !isOver; count++) {
      const size = sizes[(lane + count) % sizes.length]!
      const key = `${lane}/${count}`
      await aws('s3', 'cp', '--no-progress', `${size}`, `s3://${bucket}/${key}`)
      stored.set(key, size)
      await aws('s3', 'cp', '--no-progress', `s3://${bucket}/${key}`, `back-${lane}`)
      const bytes = readFileSync(join(folder, `back-${lane}`))
      if (!bytes.equals(bytesOf(`${size}`, size))) throw new Error(`${key} came back as ${sha256(bytes)}`)
    }
  }
  let failure: unknown
  const load = Promise.all(Array.from({ length: laneCount }, (_, lane) => work(lane))).catch(error => {
    failure = error
  })
  const until = async (isSo: () => boolean) => {
    while (failure === undefined && !isSo()) await new Promise(done => setTimeout(done, 20))
  }
  const admin = createAdminClient(server)
  const readyCount = () => server.log().split('"msg":"ready"').length - 1
  for (let restart = 1; restart <= restartCount && failure === undefined; restart++) {
    const before = stored.size
    await until(() => stored.size >= before + laneCount)
    if (failure !== undefined) break
    await admin.call('POST', '/service/restart', {})
    await until(() => readyCount() > restart)
  }
  isOver = true
  await load
  t.equal(failure, undefined, 'no command fails')
  t.equal(readyCount(), restartCount + 1)

  const listed = JSON.parse(await aws('s3api', 'list-objects-v2', '--bucket', bucket, '--output', 'json'))
  const found = listed.Contents.map(({ Key, Size }: { Key: string; Size: number }) => [Key, Size])
  t.same(found.sort(), [...stored].sort(), `${stored.size} objects are there`)
  await aws('s3', 'cp', '--no-progress', '--recursive', `s3://${bucket}`, 'all')
  const wrong = [...stored].filter(
    ([key, size]) => !readFileSync(join(folder, 'all', key)).equals(bytesOf(`${size}`, size)),
  )
  t.same(wrong, [])
})
