/** Test helper: the objects service over a real drive in a temporary folder, in one thread. */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AnyPlugin } from 'svc/kernel'
import type { ChecksumsService } from 'svc/plugins/checksums/api'
import standard from 'svc/plugins/standard'
import type { StorageService } from 'svc/plugins/storage/api'
import { createSystemPorts, startKernel } from 'svc/testing'
import type { Body, ObjectData, ObjectsService } from '../api.ts'

export const owner = { accessKey: 'admin', isRoot: true, ownerId: 'a'.repeat(64), displayName: 'admin' }

export interface TestObjects {
  readonly objects: ObjectsService
  readonly storage: StorageService
  readonly checksums: ChecksumsService
  readonly folder: string
  now(): number
  /** Advances the clock that stamps commits. */
  advance(ms: number): void
  stop(): Promise<void>
}

/** `inMemory`: in a folder in memory, if there is one; for tests of rules, not of durability. */
export async function startObjects({
  inMemory = false,
  plugins = [],
}: {
  inMemory?: boolean
  plugins?: readonly AnyPlugin[]
} = {}): Promise<TestObjects> {
  const place = inMemory && existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
  const folder = await mkdtemp(join(place, 'svc-objects-'))
  const needed = ['storage', 'drive', 'checksums', 'objects']
  const { clock } = createSystemPorts()
  let advancedMs = 0
  const now = () => clock.now() + advancedMs
  const kernel = await startKernel({
    plugins: [...standard.filter(plugin => needed.includes(plugin.name)), ...plugins],
    config: { storage: { endpoints: [folder] } },
    ports: {
      clock: { now, monotonicNs: () => clock.monotonicNs(), after: (delayMs, call) => clock.after(delayMs, call) },
    },
  })
  return {
    objects: kernel.services.objects,
    storage: kernel.services.storage,
    checksums: kernel.services.checksums,
    folder,
    now,
    advance(ms) {
      advancedMs += ms
    },
    async stop() {
      await kernel.stop()
      await rm(folder, { recursive: true })
    },
  }
}

/** A payload in chunks, as from a socket. */
export function payload(
  bytes: Buffer,
  options: { chunkBytes?: number; announced?: boolean; digests?: Partial<ReturnType<Body['expectedDigests']>> } = {},
): Body {
  const { chunkBytes = 65_536, announced = true, digests = {} } = options
  return {
    sizeBytes: announced ? bytes.length : undefined,
    expectedDigests: () => ({ md5: undefined, checksum: undefined, ...digests }),
    async consume(sink) {
      for (let at = 0; at < bytes.length; at += chunkBytes) await sink(bytes.subarray(at, at + chunkBytes))
    },
  }
}

export async function collect(data: ObjectData): Promise<Buffer> {
  if (data.kind === 'whole') return Buffer.from(data.bytes)
  const chunks: Buffer[] = []
  for (let chunk = await data.next(); chunk !== undefined; chunk = await data.next()) {
    chunks.push(Buffer.from(chunk.bytes))
    chunk.release()
  }
  data.close()
  return Buffer.concat(chunks)
}
