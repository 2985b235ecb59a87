import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Above well-known services, and below what systems give to outgoing connections (Linux: from 32768 on). */
const portMin = 12_000
const portMax = 32_000
const attemptsMax = 100

/**
 * A port of the loopback interface that nobody has, for a server that is to be stopped and started again at the same one. Of those that
 * `listen(0)` gives, another connection may take one while the server is away, or the attempt to reach it may connect to itself.
 */
export async function findLastingPort(): Promise<number> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const port = randomInt(portMin, portMax)
    if (await isFree(port)) return port
  }
  throw new Error(`no port is free among ${attemptsMax} between ${portMin} and ${portMax}`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
