/** Connects to checked addresses only. */
import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'
import type { AddressGuard } from './api.ts'
import type { HttpClientError } from './error.ts'
import type { TlsFiles } from './tls-files.ts'

export interface ConnectorOptions {
  readonly timeoutMs: number
  readonly guard: AddressGuard
  readonly tls?: { readonly isVerified: boolean }
}

export interface Connector {
  /** `makeConnector` is `buildConnector` of undici. */
  connectWith(files: TlsFiles, makeConnector: typeof buildConnector): buildConnector.connector
  /** Destroys connections that are being made; of others their agent knows. */
  close(): void
}

export function createConnector({ timeoutMs, guard, tls }: ConnectorOptions): Connector {
  const connecting = new Set<Socket>()
  return {
    connectWith(files, makeConnector) {
      const build = makeConnector({
        ...files,
        rejectUnauthorized: tls?.isVerified ?? true,
        minVersion: 'TLSv1.2',
        timeout: timeoutMs,
        allowH2: false,
        lookup: guard.lookup,
      } as buildConnector.BuildOptions)
      return (options, callback) => {
        try {
          guard.check(options.hostname)
        } catch (error) {
          return callback(error as HttpClientError, null)
        }
        // Its type hides that it returns the socket.
        const socket = build(options, (...result) => {
          connecting.delete(socket)
          callback(...result)
        }) as unknown as Socket
        connecting.add(socket)
        socket.once('close', () => connecting.delete(socket))
      }
    },
    close() {
      for (const socket of connecting) socket.destroy()
      connecting.clear()
    },
  }
}
