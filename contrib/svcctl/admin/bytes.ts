/** Answers that are files: to standard output, or to a name that it gets when all of it is there. */
import { once } from 'node:events'
import { open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Context } from '../context.ts'
import { unfinished } from '../transfer/local-file.ts'
import type { AdminClient, AdminRequest } from './client.ts'

export async function saveBytes(
  { io, output, path }: Context,
  client: AdminClient,
  request: AdminRequest,
  name: string,
): Promise<void> {
  if (name === '-') {
    const { stdout } = io
    const data = (chunk: Buffer) => (stdout.write(chunk) ? undefined : once(stdout, 'drain').then(() => undefined))
    await client.send({ ...request, sink: { data } })
    return
  }
  const target = path(name)
  const temporary = join(dirname(target), `.svcctl-${process.pid}-${Date.now()}.part`)
  // Some of them hold secrets; who wants to share one can say so.
  const file = await open(temporary, 'wx', 0o600)
  unfinished.add(temporary)
  let size = 0
  try {
    try {
      await client.send({
        ...request,
        sink: {
          async data(chunk) {
            size += chunk.length
            await file.writeFile(chunk)
          },
        },
      })
      await file.datasync()
    } finally {
      await file.close()
    }
    await rename(temporary, target)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  } finally {
    unfinished.delete(temporary)
  }
  output.done({ status: 'saved', file: name, size }, `Saved ${name}.`)
}
