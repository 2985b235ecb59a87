/**
 * The baseline for small uploads: an HTTP server that stores each object as a file, the way most object servers do. A body
 * goes to a temporary file, is made durable (fdatasync) and gets its name by rename; with `sync-directory` the name is made
 * durable too. It verifies no signature and computes no ETag: it is allowed to be faster than a real server.
 *
 *     node file-writer.ts FOLDER THREADS [sync-directory]
 */
import { close, fdatasync, fsync, mkdirSync, open, openSync, rename, write } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { isMainThread, parentPort, threadId, Worker, workerData } from 'node:worker_threads'

const FOLDER_COUNT = 1000

interface WriterData {
  readonly root: string
  readonly port: number
  readonly syncsDirectory: boolean
}

type Callback = (error: Error | null) => void

function createWriter(root: string, syncsDirectory: boolean): (name: string, body: Buffer, done: Callback) => void {
  const directories = new Map<string, number>()
  for (let index = 0; index < FOLDER_COUNT; index++) {
    const name = `dir-${String(index).padStart(3, '0')}`
    const path = join(root, name)
    mkdirSync(path, { recursive: true })
    if (syncsDirectory) directories.set(name, openSync(path, 'r'))
  }
  let counter = 0

  return (name, body, done) => {
    const temporary = join(root, `temporary-${threadId}-${counter++}`)
    open(temporary, 'wx', (openError, file) => {
      if (openError !== null) return done(openError)
      write(file, body, 0, body.length, 0, writeError => {
        if (writeError !== null) return done(writeError)
        fdatasync(file, syncError => {
          if (syncError !== null) return done(syncError)
          close(file, () => {
            rename(temporary, join(root, name), renameError => {
              if (renameError !== null || !syncsDirectory) return done(renameError)
              fsync(directories.get(dirname(name))!, done)
            })
          })
        })
      })
    })
  }
}

function serve(data: WriterData): void {
  const write = createWriter(data.root, data.syncsDirectory)
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const path = request.url!
      write(
        join(basename(dirname(path)), basename(path)),
        chunks.length === 1 ? chunks[0] : Buffer.concat(chunks),
        error => {
          response.writeHead(error === null ? 200 : 500, { 'content-length': 0 })
          response.end()
        },
      )
    })
  })
  server.listen({ host: '127.0.0.1', port: data.port, reusePort: !isMainThread }, () => {
    if (isMainThread) process.stdout.write(`listening ${(server.address() as AddressInfo).port}\n`)
  })
}

/** Several threads share a port that is found by binding it once. */
function serveWithThreads(data: WriterData, threadCount: number): void {
  const probe = createServer().listen({ host: '127.0.0.1', port: 0, reusePort: true }, () => {
    const { port } = probe.address() as AddressInfo
    let online = 0
    for (let index = 0; index < threadCount; index++) {
      const worker = new Worker(new URL(import.meta.url), { workerData: { ...data, port } satisfies WriterData })
      worker.on('message', () => {
        if (++online < threadCount) return
        probe.close(() => process.stdout.write(`listening ${port}\n`))
      })
    }
  })
}

if (isMainThread) {
  const [root, threadCount, directory] = process.argv.slice(2)
  const data = { root, port: 0, syncsDirectory: directory === 'sync-directory' }
  if (Number(threadCount) > 1) serveWithThreads(data, Number(threadCount))
  else serve(data)
} else {
  serve(workerData as WriterData)
  setImmediate(() => parentPort!.postMessage('online'))
}
