import { createServer } from 'node:net'
import type { ListenAddress } from './address.ts'
import type { ListenerName } from './api.ts'
import { bindFailure } from './errors.ts'

/** Resolves if the address can be bound exclusively, and leaves it free; rejects with `address_unavailable`. */
export async function probePort(name: ListenerName, address: ListenAddress): Promise<void> {
  if (address.port === 0) return
  await new Promise<void>((resolve, reject) => {
    const probe = createServer()
    probe.once('error', error => reject(bindFailure(name, address, error)))
    probe.listen({ host: address.host, port: address.port, exclusive: true }, () => probe.close(() => resolve()))
  })
}
