import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Above well-known services, and below the range of outgoing connections (Linux: from 32768 on). */
const portMin = 12_000
const portMax = 32_000
const attemptsMax = 100
/**
 * Test files that run beside each other have ports of their own: a port that one has chosen is free while its server is down. tap numbers what
 * runs beside each other.
 */
const sliceCount = 16
const sliceSize = (portMax - portMin) / sliceCount
const sliceMin = portMin + (Number(process.env.TAP_JOB_ID ?? 0) % sliceCount) * sliceSize
const chosen = new Set<number>()

/**
 * A free port of the loopback interface, for a server that is stopped and started again at the same port. A port from `listen(0)` may be
 * taken by another connection while the server is down, or an attempt to reach it may connect to itself.
 */
export async function findLastingPort(): Promise<number> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const port = randomInt(sliceMin, sliceMin + sliceSize)
    if (chosen.has(port) || !(await isFree(port))) continue
    chosen.add(port)
    return port
  }
  throw new Error(`no port is free among ${attemptsMax} between ${sliceMin} and ${sliceMin + sliceSize}`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
