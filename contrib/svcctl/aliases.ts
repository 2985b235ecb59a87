/** Aliases: a name for an endpoint with its credentials, kept in `config.json` of the configuration folder. */
import { homedir } from 'node:os'
import { join } from 'node:path'
import { failure, notFoundError, usageError } from './errors.ts'
import type { Io } from './io.ts'
import { readPrivateFile, withLock, writePrivateFile } from './private-file.ts'

export interface Alias {
  /** `http://host:port`, without a path. */
  readonly endpoint: string
  readonly accessKey: string
  readonly secretKey: string
  readonly region: string
  /** `auto`: path style but for amazonaws.com. */
  readonly pathStyle: 'auto' | 'on' | 'off'
  /** The Admin API's URL, if it is not on the endpoint's port plus one. */
  readonly adminUrl?: string
  /** Path of a PEM file with the authorities to trust. */
  readonly ca?: string
  /** Certificates are not verified. */
  readonly insecure?: boolean
}

export const pathStyles = ['auto', 'on', 'off'] as const

interface AliasFile {
  readonly version: 1
  readonly aliases: Readonly<Record<string, Alias>>
}

// By hand: the schema library takes longer to load than most commands take to run.
function isAlias(value: unknown): value is Alias {
  const { endpoint, accessKey, secretKey, region, pathStyle, adminUrl, ca, insecure } = (value ?? {}) as Partial<Alias>
  const isText = (text: unknown) => typeof text === 'string' && text !== ''
  return (
    [endpoint, accessKey, secretKey, region].every(isText) &&
    URL.canParse(endpoint!) &&
    pathStyles.includes(pathStyle!) &&
    [adminUrl, ca].every(text => text === undefined || isText(text)) &&
    (insecure === undefined || typeof insecure === 'boolean')
  )
}

function isAliasFile(value: unknown): value is AliasFile {
  const { version, aliases } = (value ?? {}) as Partial<AliasFile>
  return version === 1 && typeof aliases === 'object' && aliases !== null && Object.values(aliases).every(isAlias)
}

const namePattern = /^[A-Za-z][A-Za-z0-9_-]{0,62}$/

export interface AliasStore {
  readonly path: string
  list(): Promise<ReadonlyMap<string, Alias>>
  /** Throws `not_found` and names the known aliases. */
  get(name: string): Promise<Alias>
  set(name: string, alias: Alias): Promise<void>
  remove(name: string): Promise<void>
}

/** `--config-dir`, SVCCTL_CONFIG_DIR, or the folder of the XDG base directory specification. */
export function configFolder(io: Io, given: string | undefined): string {
  if (given !== undefined) return given
  if (io.env.SVCCTL_CONFIG_DIR) return io.env.SVCCTL_CONFIG_DIR
  const base = io.env.XDG_CONFIG_HOME || join(io.env.HOME || homedir(), '.config')
  return join(base, 'svcctl')
}

export function requireAliasName(name: string): void {
  if (!namePattern.test(name)) {
    throw usageError(
      `${JSON.stringify(name)} is no name for an alias: a letter, then letters, digits, "-" and "_", 63 at most.`,
    )
  }
}

/** The origin. Throws a usage error if the text is not an http or https URL, or has more than an origin. */
export function parseEndpoint(text: string): string {
  if (!URL.canParse(text) || !/^https?:\/\//i.test(text)) {
    throw usageError(`${JSON.stringify(text)} is no endpoint: give a URL such as http://localhost:9000.`)
  }
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') throw usageError('An endpoint has no user and no password in it.')
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    throw usageError('An endpoint has no path and no query.')
  return url.origin
}

export function createAliasStore(folder: string): AliasStore {
  const path = join(folder, 'config.json')
  // Not kept between calls: one command reads it once or twice, and another process may change it.
  async function read(): Promise<AliasFile> {
    const text = await readPrivateFile(path)
    if (text === undefined) return { version: 1, aliases: {} }
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      throw failure('bad_file', `${path} is not JSON.`) // Without the cause: it would quote the file.
    }
    if (!isAliasFile(value)) throw failure('bad_file', `${path} is not a configuration of this svcctl.`)
    return value
  }
  const change = (edit: (aliases: Map<string, Alias>) => void) =>
    withLock(path, async () => {
      const aliases = new Map(Object.entries((await read()).aliases))
      edit(aliases)
      const file: AliasFile = { version: 1, aliases: Object.fromEntries(aliases) }
      await writePrivateFile(path, `${JSON.stringify(file, undefined, 2)}\n`)
    })
  const missing = (name: string, names: Iterable<string>) => {
    const known = [...names]
    const rest =
      known.length === 0 ? 'There is none yet: `svcctl alias set` makes one.' : `There are: ${known.join(', ')}.`
    return notFoundError(`There is no alias ${JSON.stringify(name)}. ${rest}`)
  }
  return {
    path,
    list: async () => new Map(Object.entries((await read()).aliases)),
    async get(name) {
      const { aliases } = await read()
      if (!Object.hasOwn(aliases, name)) throw missing(name, Object.keys(aliases))
      return aliases[name]!
    },
    set: (name, alias) => change(aliases => aliases.set(name, alias)),
    remove: name =>
      change(aliases => {
        if (!aliases.delete(name)) throw missing(name, aliases.keys())
      }),
  }
}
