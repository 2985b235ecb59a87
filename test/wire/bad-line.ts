/** A line between a browser and a server that can be slow, cut in the middle of what goes over it, and mended. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'

export interface BadLine {
  readonly port: number
  /** In each direction of each connection; 0: as many as come. */
  bytesPerSecond: number
  /** Ends what goes over it, and whatever comes until `mend`. */
  cut(): void
  /** Lets nothing through any more, and closes nothing, until `mend`. */
  hush(): void
  mend(): void
  /** The next answer is not let through: its connection ends. */
  loseAnswer(): void
}

/** Ended when the test ends. */
export async function startBadLine(t: Test, port: number): Promise<BadLine> {
  const sockets = new Set<Socket>()
  let isCut = false
  let hushed: (() => void)[] | undefined
  let isLosing = false
  const pass = (from: Socket, to: Socket, isAnswer: boolean) => {
    sockets.add(from)
    from.on('data', chunk => {
      if (isAnswer && isLosing) {
        isLosing = false
        return to.destroy()
      }
      if (hushed !== undefined) {
        from.pause()
        hushed.push(() => {
          to.write(chunk)
          from.resume()
        })
        return
      }
      to.write(chunk)
      if (line.bytesPerSecond === 0 && to.writableLength < 1024 ** 2) return
      from.pause()
      const resume = () => from.resume()
      if (line.bytesPerSecond > 0) setTimeout(resume, (chunk.length / line.bytesPerSecond) * 1000)
      else to.once('drain', resume)
    })
    from.on('end', () => to.end())
    // The other side learns of it by its own end.
    from.on('error', () => to.destroy())
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
  }
  const server = createServer(client => {
    if (isCut) return client.resetAndDestroy()
    const upstream = connect(port, '127.0.0.1')
    pass(client, upstream, false)
    pass(upstream, client, true)
  })
  const line: BadLine = {
    port: 0,
    bytesPerSecond: 0,
    cut() {
      isCut = true
      for (const socket of sockets) socket.resetAndDestroy()
    },
    hush() {
      hushed ??= []
    },
    loseAnswer() {
      isLosing = true
    },
    mend() {
      isCut = false
      const waiting = hushed ?? []
      hushed = undefined
      for (const goOn of waiting) goOn()
    },
  }
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    line.cut()
    server.close()
  })
  return Object.assign(line, { port: (server.address() as AddressInfo).port })
}
