/** Saves an answer that is a file: to standard output, or to a file that gets its name when it is complete. */
import { once } from 'node:events'
import type { Context } from '../context.ts'
import { writeWholeFile } from '../whole-file.ts'
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
  let size = 0
  await writeWholeFile(path(name), async file => {
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
  })
  output.done({ status: 'saved', file: name, size }, `Saved ${name}.`)
}
