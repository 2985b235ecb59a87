/**
 * The URL of a database. It is parsed here and not by the client library, which would read missing parts from the environment of the
 * server, read files whenever it connects, and ignore unknown parameters. Source: PostgreSQL, "Connection URIs".
 */

export interface Place {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
  /** Undefined: without TLS. */
  readonly tls: TlsFiles | undefined
  /** For operators. */
  readonly endpoint: string
}

/** PEM files; undefined if not given. */
export interface TlsFiles {
  readonly authority: string | undefined
  readonly certificate: string | undefined
  readonly key: string | undefined
  /** False only with `sslmode=no-verify`. */
  readonly isVerified: boolean
}

const defaultPort = 5432
const knownParameters = new Set(['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'])
/** All modes but the last verify name and certificate, which is stricter than in other clients. */
const encryptedModes = ['require', 'verify-ca', 'verify-full', 'no-verify']
const modes = ['disable', ...encryptedModes]

/** `problem` follows the name of the key and does not quote the text, which has a password. */
export function parseConnectionString(text: string): Place | { readonly problem: string } {
  let url: URL
  let parts: { user: string; password: string; database: string; host: string }
  try {
    url = new URL(text)
    parts = {
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      database: decodeURIComponent(url.pathname.slice(1)),
      host: url.searchParams.get('host') ?? decodeURIComponent(url.hostname),
    }
  } catch {
    return { problem: 'must be a URL: postgresql://user:password@host:5432/database' }
  }
  if (url.protocol !== 'postgresql:' && url.protocol !== 'postgres:')
    return { problem: 'must begin with postgresql://' }
  const { user, password, database } = parts
  if (user === '' || database === '') return { problem: 'must name a user and a database' }
  const host = parts.host.replace(/^\[(.*)\]$/, '$1')
  if (host === '') return { problem: 'must name a host' }
  for (const name of url.searchParams.keys()) {
    if (!knownParameters.has(name)) return { problem: `has an unknown parameter: ${JSON.stringify(name)}` }
  }
  const parameter = (name: string) => url.searchParams.get(name) ?? undefined
  const mode = parameter('sslmode') ?? (isLocal(host) ? 'disable' : 'verify-full')
  if (!modes.includes(mode)) return { problem: `has an sslmode that is none of ${modes.join(', ')}` }
  const certificate = parameter('sslcert')
  const key = parameter('sslkey')
  if ((certificate === undefined) !== (key === undefined))
    return { problem: 'must have both sslcert and sslkey, or none' }
  const port = url.port === '' ? defaultPort : Number(url.port)
  return {
    host,
    port,
    user,
    password,
    database,
    tls: encryptedModes.includes(mode)
      ? { authority: parameter('sslrootcert'), certificate, key, isVerified: mode !== 'no-verify' }
      : undefined,
    endpoint: `postgresql://${host.includes(':') ? `[${host}]` : host}:${port}/${database}`,
  }
}

/** Connections within this machine need no TLS. */
function isLocal(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}
