/** Everything that a command works with: output, aliases, clients, progress. */
import { resolve } from 'node:path'
import { type AdminClient, adminUrlOf, createAdminClient } from './admin/client.ts'
import { type Alias, type AliasStore, configFolder, createAliasStore, parseEndpoint } from './aliases.ts'
import { timeoutMsDefault } from './global-options.ts'
import type { Io } from './io.ts'
import { createOutput, type Output } from './output.ts'
import { requireConfirmed } from './prompt.ts'
import { createClient, type S3Client } from './s3/client.ts'
import { type Connection, createConnection } from './s3/connection.ts'
import { parseRemote, parseTarget, type RemoteTarget, type Target } from './target.ts'
import { createCount, createProgress, createWait } from './transfer/progress.ts'
import { createTransferStates, type TransferStates } from './transfer/transfer-state.ts'

/** Options that every command has. */
export interface GlobalOptions {
  readonly json?: boolean
  readonly quiet?: boolean
  /** False for `--no-color`. */
  readonly color: boolean
  readonly configDir?: string
  readonly adminUrl?: string
  readonly insecure?: boolean
  readonly ca?: string
  readonly timeout?: number
  readonly debug?: boolean
  readonly yes?: boolean
}

export interface ConnectAdminOptions {
  readonly isStream?: boolean
  /** How long to wait without `--timeout`, where that is longer: for operations that answer slowly. */
  readonly answersWithinMs?: number
}

export interface Context {
  readonly io: Io
  readonly options: GlobalOptions
  readonly output: Output
  readonly aliases: AliasStore
  readonly states: TransferStates
  /** Absolute. */
  path(text: string): string
  /** The target of an argument that may also be a local path. */
  target(text: string): Promise<Target>
  remote(text: string): RemoteTarget
  /** One client per alias and command. Throws `not_found`. */
  connect(aliasName: string): Promise<S3Client>
  connectTo(alias: Alias): S3Client
  /** A client for this origin, with the certificate settings of the alias and the options. */
  openConnection(alias: Alias, origin: string): Connection
  /** The address of the server's Admin API. */
  adminUrl(alias: Alias): string
  /** The Admin API of the server. Throws `not_found`. */
  connectAdmin(aliasName: string, options?: ConnectAdminOptions): Promise<AdminClient>
  /** The progress line of a transfer, on a terminal. */
  startProgress(): void
  /** The progress of one answer with a known duration, on a terminal. */
  startWaiting(expectedMs: number): void
  /** The count of listed entries, on a terminal. */
  startCounting(): void
  /** Whether notes were written. */
  readonly hasTransfers: boolean
  /** Asks, unless `--yes`. Rejects with the code `not_confirmed` where the answer is not yes: nothing must have been changed before. */
  requireConfirmed(question: string): Promise<void>
  /** Makes signals not interrupt the command any more: the command itself ends on one. */
  endsOnSignal(): void
  readonly isEndingItself: boolean
  close(): Promise<void>
}

/** The maximum number of connections, above the need of any command; opened on demand. */
const connectionCount = 128

/** The width of the terminal in characters; infinite without a terminal. */
const widthOf = ({ isTTY, columns }: Io['stdout']): number => (isTTY && columns) || Number.POSITIVE_INFINITY

export function createContext(io: Io, options: GlobalOptions): Context {
  const isJson = options.json === true
  const hasColor = options.color && io.stderr.isTTY === true && !io.env.NO_COLOR
  const width = widthOf(io.stdout)
  const hasColoredResults = options.color && io.stdout.isTTY === true && !io.env.NO_COLOR
  const noteWidth = widthOf(io.stderr)
  const output = createOutput(io, {
    isJson,
    isQuiet: options.quiet === true,
    hasColor,
    hasColoredResults,
    width,
    noteWidth,
  })
  const folder = resolve(io.cwd, configFolder(io, options.configDir))
  const aliases = createAliasStore(folder)
  const path = (text: string) => resolve(io.cwd, text)

  const debug = options.debug ? (line: string) => output.note(`debug: ${line}`) : undefined
  const timeoutMs = options.timeout ?? timeoutMsDefault
  const opened: { close(): Promise<void> }[] = []
  const withOptions = (alias: Alias): Alias => ({
    ...alias,
    ...(options.ca === undefined ? undefined : { ca: path(options.ca) }),
    ...(options.insecure ? { insecure: true } : undefined),
  })

  function connectTo(alias: Alias): S3Client {
    const client = createClient({ alias: withOptions(alias), connectionCount, timeoutMs, debug })
    opened.push(client)
    return client
  }

  function openConnection(alias: Alias, origin: string): Connection {
    const { ca, insecure } = withOptions(alias)
    const connection = createConnection({ origin, connectionCount, timeoutMs, ca, isInsecure: insecure === true })
    opened.push(connection)
    return connection
  }

  const adminUrl = (alias: Alias) =>
    options.adminUrl === undefined ? adminUrlOf(alias) : parseEndpoint(options.adminUrl)

  async function connectAdmin(
    aliasName: string,
    { isStream = false, answersWithinMs = 0 }: ConnectAdminOptions = {},
  ): Promise<AdminClient> {
    const alias = withOptions(await aliases.get(aliasName))
    // A stream with a short time limit may be silent for longer than that.
    const silenceMs = isStream ? timeoutMsDefault : (options.timeout ?? Math.max(timeoutMsDefault, answersWithinMs))
    const client = createAdminClient({ alias, adminUrl: adminUrl(alias), timeoutMs: silenceMs, debug })
    opened.push(client)
    return client
  }

  /** Standard error is a terminal. */
  const isWatched = io.stderr.isTTY === true && !isJson && options.quiet !== true
  let hasTransfers = false
  let isEndingItself = false
  const byAlias = new Map<string, S3Client>()
  return {
    io,
    options,
    output,
    aliases,
    states: createTransferStates(folder),
    path,
    async target(text) {
      return parseTarget(text, await aliases.list())
    },
    remote: parseRemote,
    async connect(aliasName) {
      let client = byAlias.get(aliasName)
      if (client === undefined) {
        client = connectTo(await aliases.get(aliasName))
        byAlias.set(aliasName, client)
      }
      return client
    },
    connectTo,
    openConnection,
    adminUrl,
    connectAdmin,
    startProgress() {
      hasTransfers = true
      output.progress = createProgress(io, isWatched)
    },
    startWaiting(expectedMs) {
      output.progress = createWait(io, isWatched, expectedMs)
    },
    startCounting() {
      output.progress = createCount(io, isWatched)
    },
    get hasTransfers() {
      return hasTransfers
    },
    endsOnSignal() {
      isEndingItself = true
    },
    get isEndingItself() {
      return isEndingItself
    },
    requireConfirmed: question => requireConfirmed(io, options.yes === true, question),
    async close() {
      output.progress.stop()
      await Promise.all(opened.map(client => client.close()))
    },
  }
}
