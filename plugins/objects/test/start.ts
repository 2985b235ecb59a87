/** The objects service over a real drive in a temporary folder, in one thread. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import standard from 'svc/plugins/standard'
import { startKernel } from 'svc/testing'
import type { ObjectsService } from '../api.ts'

export const owner = { accessKey: 'admin', isRoot: true, ownerId: 'a'.repeat(64), displayName: 'admin' }

export async function startObjects(): Promise<{ objects: ObjectsService; folder: string; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-objects-'))
  const needed = ['storage', 'drive', 'checksums', 'objects']
  const kernel = await startKernel({
    plugins: standard.filter(plugin => needed.includes(plugin.name)),
    config: { storage: { endpoints: [folder] } },
  })
  return {
    objects: kernel.services.objects,
    folder,
    async stop() {
      await kernel.stop()
      await rm(folder, { recursive: true })
    },
  }
}
