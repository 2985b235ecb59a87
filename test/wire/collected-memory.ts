/**
 * What a server holds on to after a collection of garbage, over the inspector of Node. Resident memory says when V8 last collected and how
 * busy the machine was; this says what is kept.
 *
 *     const server = await startServer({ environment: { ...withInspector } })
 *     const inspector = await openInspector(server)
 *     const { heapBytes, externalBytes } = await inspector.collect()
 *     inspector.close()
 */
import { once } from 'node:events'
import type { TestServer } from './server.ts'

/** Variables of a server that `openInspector` is to look into. */
export const withInspector = { NODE_OPTIONS: '--inspect=127.0.0.1:0' }

export interface CollectedMemory {
  /** What is in use on the heap of JavaScript. */
  readonly heapBytes: number
  /** Buffers, and what else is held outside of the heap for objects on it. */
  readonly externalBytes: number
}

export interface Inspector {
  /** Collects garbage until two collections in a row find the same, within 1 MiB, or ten times; then the least of what was found. */
  collect(): Promise<CollectedMemory>
  close(): void
}

const MIB = 1024 * 1024

export async function openInspector(server: TestServer): Promise<Inspector> {
  const address = /Debugger listening on (ws:\/\/\S+)/.exec(server.log())?.[1]
  if (address === undefined) throw new Error('The server was started without withInspector')
  const socket = new WebSocket(address)
  await once(socket, 'open')
  let count = 0
  const call = async (method: string, params: object = {}) => {
    const id = ++count
    socket.send(JSON.stringify({ id, method, params }))
    for (;;) {
      const [{ data }] = (await once(socket, 'message')) as [MessageEvent]
      const answer = JSON.parse(data)
      if (answer.id !== id) continue
      if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
      return answer.result
    }
  }
  const read = async (): Promise<CollectedMemory> => {
    await call('HeapProfiler.collectGarbage')
    const { result } = await call('Runtime.evaluate', { expression: 'process.memoryUsage()', returnByValue: true })
    return { heapBytes: result.value.heapUsed, externalBytes: result.value.external }
  }
  return {
    async collect() {
      let least = await read()
      for (let i = 1; i < 10; i++) {
        const next = await read()
        const gain = totalOf(least) - totalOf(next)
        if (gain > 0) least = next
        if (Math.abs(gain) < MIB) break
      }
      return least
    },
    close: () => socket.close(),
  }
}

const totalOf = ({ heapBytes, externalBytes }: CollectedMemory): number => heapBytes + externalBytes
