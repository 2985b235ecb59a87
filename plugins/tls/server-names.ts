/** The certificate of a connection, by the name that the client asks for. */
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls'
import type { MaybePromise } from 'svc/kernel'
import type { NamedCertificate, TlsSource } from './api.ts'
import { plainServerName } from './client-hello.ts'

/** Contexts kept per thread, each about 30 KiB of OpenSSL memory; the least recently used one is dropped. */
const contextsMax = 512
const nameLengthMax = 253
const namePattern = /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/

export interface ServerNames {
  /** Undefined: none of the sources has one, or an expired one where there is a certificate of the listener's own. */
  contextFor(serverName: string): MaybePromise<SecureContext | undefined>
}

export interface ServerNamesOptions {
  sources(): readonly TlsSource[]
  /** Whether listeners have a default certificate, which is presented instead of an expired one. */
  hasOwn(): boolean
  /** Versions and keys of session tickets, the same for every context. */
  readonly common: () => SecureContextOptions
}

export function createServerNames({ sources, hasOwn, common }: ServerNamesOptions): ServerNames {
  const contexts = new Map<string, SecureContext>()

  function contextOf({ fingerprint, certificate, key }: NamedCertificate): SecureContext {
    const known = contexts.get(fingerprint)
    contexts.delete(fingerprint)
    const context = known ?? createSecureContext({ ...common(), cert: certificate, key })
    contexts.set(fingerprint, context)
    if (contexts.size > contextsMax) contexts.delete(contexts.keys().next().value!)
    return context
  }

  async function askAll(name: string): Promise<SecureContext | undefined> {
    let expired: NamedCertificate | undefined
    for (const source of sources()) {
      const found = await source.find(name)
      if (found === undefined) continue
      if (!found.isExpired) return contextOf(found)
      expired ??= found
    }
    return expired === undefined || hasOwn() ? undefined : contextOf(expired)
  }

  return {
    contextFor(serverName) {
      const name = plainServerName(serverName)
      if (sources().length === 0 || name.length > nameLengthMax || !namePattern.test(name)) return undefined
      return askAll(name)
    },
  }
}
