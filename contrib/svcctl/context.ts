/** What commands work with. */
import { resolve } from 'node:path'
import { type AdminClient, adminUrlOf, createAdminClient } from './admin/client.ts'
import { type Alias, type AliasStore, configFolder, createAliasStore, parseEndpoint } from './aliases.ts'
import { timeoutMsDefault } from './global-options.ts'
import type { Io } from './io.ts'
import { createOutput, type Output } from './output.ts'
import { confirm } from './prompt.ts'
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
  /** Where an answer takes longer than others: waited for so long at least. */
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
  /** Of an argument that may be local. */
  target(text: string): Promise<Target>
  remote(text: string): RemoteTarget
  /** One client per alias, however often it is asked for. Throws `not_found`. */
  connect(aliasName: string): Promise<S3Client>
  connectTo(alias: Alias): S3Client
  /** To this origin, with what the alias and the options say of certificates. */
  openConnection(alias: Alias, origin: string): Connection
  /** Where the Admin API of the server is. */
  adminUrl(alias: Alias): string
  /** The Admin API of the server. Throws `not_found`. */
  connectAdmin(aliasName: string, options?: ConnectAdminOptions): Promise<AdminClient>
  /** For transfers: a progress line, where somebody can see it. */
  startProgress(): void
  /** For one answer that takes about so long: how much of that time is over, where somebody can see it. */
  startWaiting(expectedMs: number): void
  /** For listings: how many have been seen, where somebody can see it. */
  startCounting(): void
  /** Whether there have been any. */
  readonly hasTransfers: boolean
  confirm(question: string): Promise<boolean>
  /** A signal does not break the command off any more: it ends by itself. */
  endsOnSignal(): void
  readonly isEndingItself: boolean
  close(): Promise<void>
}

/** More than any command has under way; opened as they are needed. */
const connectionCount = 128

/** Characters of a line; infinite where it is no terminal. */
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
    // A stream that is followed for a short time has pauses that are longer.
    const silenceMs = isStream ? timeoutMsDefault : Math.max(timeoutMs, answersWithinMs)
    const client = createAdminClient({ alias, adminUrl: adminUrl(alias), timeoutMs: silenceMs, debug })
    opened.push(client)
    return client
  }

  /** Somebody looks at standard error. */
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
    confirm: question => confirm(io, options.yes === true, question),
    async close() {
      output.progress.stop()
      await Promise.all(opened.map(client => client.close()))
    },
  }
}
