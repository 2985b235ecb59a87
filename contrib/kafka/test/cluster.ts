/** Real brokers for tests: those of librdkafka, controlled through test/mock-cluster.py, and read with kcat. */
import { execFile, spawn } from 'node:child_process'
import { accessSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { hangProcesses } from 'svc/testing'
import type { Test } from 'tap'

const python = '/usr/bin/python3'
const libraries = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib'].map(folder =>
  join(folder, 'librdkafka.so.1'),
)
const kcat = '/usr/bin/kcat'

function exists(path: string): boolean {
  try {
    accessSync(path)
    return true
  } catch {
    return false
  }
}

/** Why the tests with brokers are skipped; false if they run. */
export const skip: string | false = (() => {
  const missing = [
    ...[python, kcat].filter(path => !exists(path)),
    ...(libraries.some(exists) ? [] : ['librdkafka.so.1']),
  ]
  if (missing.length > 0 && process.env.CI) throw new Error(`${missing.join(', ')}: not installed, and CI is set`)
  return missing.length > 0 && `not installed: ${missing.join(', ')}`
})()

export interface ReadRecord {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly key: string | null
  readonly payload: string
}

export interface Cluster {
  /** `127.0.0.1:port`, one per broker; ids begin with 1. */
  readonly brokers: readonly string[]
  /** See mock-cluster.py. */
  tell(command: string): Promise<void>
  /** All records of the topic, in the order of offsets of each partition. */
  read(topic: string): Promise<readonly ReadRecord[]>
  /** From now on the brokers do not answer, until `resume`. */
  hang(): Promise<void>
  resume(): void
}

export async function startCluster(t: Test, brokerCount: number): Promise<Cluster> {
  const script = join(import.meta.dirname, 'mock-cluster.py')
  const child = spawn(python, [script, String(brokerCount)], { stdio: ['pipe', 'pipe', 'ignore'] })
  t.teardown(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error('the brokers ended')
    return value as string
  }
  const brokers = (await nextLine()).split(',')
  return {
    brokers,
    async tell(command) {
      child.stdin.write(`${command}\n`)
      const answer = await nextLine()
      if (answer !== '0') throw new Error(`${command}: ${answer}`)
    },
    async read(topic) {
      const { stdout } = await promisify(execFile)(
        kcat,
        ['-C', '-b', brokers.join(','), '-t', topic, '-o', 'beginning', '-e', '-q', '-J', '-X', 'fetch.wait.max.ms=10'],
        { maxBuffer: 64 * 1024 * 1024, timeout: 90_000 },
      )
      const records: ReadRecord[] = stdout.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line)]))
      return records.sort((a, b) => a.partition - b.partition || a.offset - b.offset)
    },
    hang: () => hangProcesses([child.pid!]),
    resume: () => void child.kill('SIGCONT'),
  }
}
