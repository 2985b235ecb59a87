/** The objects service over a real drive in a temporary folder, in one thread. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startKernel } from 'svc/testing'
import checksums from '../../checksums/index.ts'
import drive from '../../drive/index.ts'
import storage from '../../storage/index.ts'
import type { ObjectsService } from '../api.ts'
import objects from '../index.ts'

export const owner = { accessKey: 'admin', isRoot: true, ownerId: 'a'.repeat(64), displayName: 'admin' }

export async function startObjects(): Promise<{ objects: ObjectsService; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-objects-'))
  const kernel = await startKernel({
    plugins: [storage, drive, checksums, objects],
    config: { storage: { endpoints: [folder] } },
  })
  return {
    objects: kernel.services.objects,
    async stop() {
      await kernel.stop()
      await rm(folder, { recursive: true })
    },
  }
}
