/**
 * svcctl against rclone: one large file and many small ones, up and down, with the same number of requests under way. svcctl
 * compares every byte that it receives with the server's checksum and syncs each file before it gets its name; rclone
 * compares and syncs nothing of what it downloads in several streams.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import type { Bench, Sample, Scenario } from '../bench.ts'
import { column, ratios, warmUp } from '../bench.ts'
import { createBucket, request } from '../control.ts'
import { track } from '../processes.ts'
import type { ServerTarget } from '../targets.ts'

const MIB = 1 << 20
const BUCKET = 'bench-svcctl'
const SMALL_BYTES = 16 * 1024
const PER_FOLDER = 100
const REQUESTS_AT_ONCE = 16
const svcctl = resolve(import.meta.dirname, '../../../contrib/svcctl/main.ts')

interface Client {
  readonly name: string
  readonly environment: Readonly<Record<string, string>>
  /** One file to a key or back; everything below a folder to a prefix or back. */
  copy(from: string, to: string, isFolder: boolean): readonly string[]
  remote(key: string): string
}

export const svcctlClient: Scenario = {
  name: 'svcctl',
  summary: 'svcctl and rclone: a file of 1 GiB and 5000 of 16 KiB, up and down (--quick: 256 MiB and 1000)',
  async run(bench) {
    const { server } = bench
    if (server === undefined) return bench.say('there is nothing to measure without the server')
    const largeBytes = bench.isQuick ? 256 * MIB : 1024 * MIB
    const smallCount = bench.isQuick ? 1000 : 5000
    await createBucket(server, BUCKET)
    const sources = { large: join(bench.folder, 'large.bin'), small: join(bench.folder, 'small') }
    await writeLarge(sources.large, largeBytes)
    await writeSmall(sources.small, smallCount)
    const clients = await clientsFor(bench, server)
    const jobs = [
      { name: 'large up', isFolder: false, isUp: true },
      { name: 'large down', isFolder: false, isUp: false },
      { name: 'small up', isFolder: true, isUp: true },
      { name: 'small down', isFolder: true, isUp: false },
    ] as const
    const roundCount = bench.isQuick ? 2 : 3
    for (const { name, isFolder, isUp } of jobs) {
      const samples: Record<string, Sample[]> = Object.fromEntries(clients.map(client => [client.name, []]))
      for (let round = warmUp; round < roundCount; round++) {
        for (const client of clients) {
          // Many small files go to a new folder, and what is there stays: ext4 gives none of the inodes that were freed in the last
          // seconds away again and looks at each, which would be measured instead.
          const target = join(bench.folder, isFolder ? `back-${client.name}-${round}` : 'back')
          rmSync(target, { recursive: true, force: true })
          mkdirSync(target)
          // A new place each time: what is there already, rclone would not send again.
          const key = `${client.name}/${isFolder ? 'small' : 'large'}-${isUp ? round : roundCount - 1}`
          const source = isFolder ? sources.small : sources.large
          const place = isFolder ? target : join(target, 'large.bin')
          const args = isUp
            ? client.copy(source, client.remote(key), isFolder)
            : client.copy(client.remote(key), place, isFolder)
          const sample = await runClient(client, args)
          if (isUp) await requireStored(server, key, isFolder ? smallCount : 1)
          else requireWritten(target, isFolder ? smallCount : 1, isFolder ? smallCount * SMALL_BYTES : largeBytes)
          if (round !== warmUp) samples[client.name]!.push(sample)
        }
        bench.say(`${name}: round ${round + 1} of ${roundCount}`)
      }
      report(bench, name, samples)
    }
  },
}

function report(bench: Bench, job: string, samples: Readonly<Record<string, readonly Sample[]>>): void {
  for (const quantity of ['seconds', 'CPU of client'] as const) {
    for (const subject of Object.keys(samples)) {
      bench.record({ subject, name: `${job}: ${quantity}`, unit: 's', samples: column(samples, subject, quantity) })
    }
    const values = ratios(column(samples, 'svcctl', quantity), column(samples, 'rclone', quantity))
    if (values.length === 0) continue
    const goal = { relation: '<=', value: 1 } as const
    bench.record({ subject: 'svcctl / rclone', name: `${job}: ${quantity}`, unit: 'ratio', samples: values, goal })
  }
}

async function clientsFor(bench: Bench, server: ServerTarget): Promise<readonly Client[]> {
  const endpoint = `http://${server.host}:${server.port}`
  const { accessKey, secretKey } = server.credentials
  const home = join(bench.folder, 'home')
  mkdirSync(home)
  const ours: Client = {
    name: 'svcctl',
    environment: { HOME: home, SVCCTL_SECRET_KEY: secretKey },
    copy: (from, to, isFolder) => [
      process.execPath,
      svcctl,
      'cp',
      '--quiet',
      '--concurrency',
      String(REQUESTS_AT_ONCE),
      ...(isFolder ? ['-r'] : []),
      from,
      to,
    ],
    remote: key => `bench/${BUCKET}/${key}`,
  }
  await runClient(ours, [process.execPath, svcctl, 'alias', 'set', 'bench', endpoint, accessKey])
  const program = (process.env.PATH ?? '')
    .split(delimiter)
    .map(folder => join(folder, 'rclone'))
    .find(existsSync)
  if (program === undefined) {
    bench.say('rclone is not installed and left out')
    return [ours]
  }
  const theirs: Client = {
    name: 'rclone',
    environment: {
      HOME: home,
      RCLONE_CONFIG: '/dev/null',
      RCLONE_CONFIG_T_TYPE: 's3',
      RCLONE_CONFIG_T_PROVIDER: 'Other',
      RCLONE_CONFIG_T_ENDPOINT: endpoint,
      RCLONE_CONFIG_T_ACCESS_KEY_ID: accessKey,
      RCLONE_CONFIG_T_SECRET_ACCESS_KEY: secretKey,
      RCLONE_CONFIG_T_REGION: 'us-east-1',
      RCLONE_CONFIG_T_FORCE_PATH_STYLE: 'true',
    },
    copy: (from, to, isFolder) => [
      program,
      isFolder ? 'copy' : 'copyto',
      '--transfers',
      String(REQUESTS_AT_ONCE),
      '--checkers',
      String(REQUESTS_AT_ONCE),
      '--s3-chunk-size',
      '16M',
      '--s3-upload-concurrency',
      '4',
      '--s3-no-check-bucket',
      from,
      to,
    ],
    remote: key => `t:${BUCKET}/${key}`,
  }
  return [ours, theirs]
}

/** Throws with what it said when the client fails. */
async function runClient({ name, environment }: Client, [command, ...args]: readonly string[]): Promise<Sample> {
  const before = childrenCpuSeconds()
  const began = performance.now()
  const child = spawn(command!, args, {
    env: { PATH: process.env.PATH ?? '', ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  track(child)
  let said = ''
  child.stderr.setEncoding('utf8').on('data', text => (said += text))
  const code = await new Promise<number | null>((done, fail) => child.once('error', fail).once('close', done))
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${said.slice(0, 500)}`)
  return { seconds: (performance.now() - began) / 1000, 'CPU of client': childrenCpuSeconds() - before }
}

/** User and system time of children that have ended: fields 16 and 17 of proc(5), in ticks of 10 ms. */
function childrenCpuSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[13]) + Number(fields[14])) / 100
}

async function writeLarge(path: string, sizeBytes: number): Promise<void> {
  const file = await open(path, 'wx')
  const block = Buffer.allocUnsafe(MIB)
  for (let at = 0; at < sizeBytes; at += MIB) {
    for (let index = 0; index < MIB; index += 4) block.writeUInt32LE(Math.imul(index + at, 2654435761) >>> 0, index)
    await file.write(block)
  }
  await file.close()
}

async function writeSmall(folder: string, count: number): Promise<void> {
  const body = Buffer.alloc(SMALL_BYTES)
  for (let index = 0; index < count; index++) {
    const place = join(folder, String(Math.floor(index / PER_FOLDER)))
    if (index % PER_FOLDER === 0) mkdirSync(place, { recursive: true })
    body.writeUInt32LE(index)
    await writeFile(join(place, `file-${index}.bin`), body)
  }
}

async function requireStored(server: ServerTarget, prefix: string, count: number): Promise<void> {
  let found = 0
  let token = ''
  do {
    const more = token === '' ? '' : `continuation-token=${encodeURIComponent(token)}&`
    const { text } = await request(server, 'GET', `/${BUCKET}?${more}list-type=2&prefix=${encodeURIComponent(prefix)}`)
    found += text.split('<Key>').length - 1
    token = /<NextContinuationToken>(.*?)</.exec(text)?.[1] ?? ''
  } while (token !== '')
  if (found !== count) throw new Error(`There should be ${count} objects below ${prefix}, and there are ${found}.`)
}

function requireWritten(folder: string, count: number, sizeBytes: number): void {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  const size = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
  if (files.length !== count || size !== sizeBytes) throw new Error(`${files.length} files of ${size} bytes came back.`)
}
