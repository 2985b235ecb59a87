/** Where a secret could have been left: everything on the drives, in the log, and in the archive that the server gives out. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AdminClient } from './admin.ts'
import type { TestServer } from './server.ts'

export interface Place {
  readonly name: string
  readonly bytes: Buffer
}

/** The archive of the cluster, unpacked. The server must run. */
export async function archive({ download }: AdminClient, folder: string): Promise<Place> {
  const file = join(folder, 'archive.zip')
  writeFileSync(file, await download('/cluster/export'))
  return { name: 'the archive', bytes: execFileSync('unzip', ['-p', file], { maxBuffer: 1 << 28 }) }
}

/** The server must have ended. */
export function files(server: TestServer): Place[] {
  const entries = readdirSync(server.drive, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  return [
    { name: 'the log', bytes: Buffer.from(server.log()) },
    ...entries.map(({ name, parentPath }) => ({ name, bytes: readFileSync(join(parentPath, name)) })),
  ]
}

/** Names of the places that have any of the traces. */
export function placesWith(places: readonly Place[], traces: readonly (Buffer | string)[]): string[] {
  return places.filter(({ bytes }) => traces.some(trace => bytes.includes(trace))).map(({ name }) => name)
}
