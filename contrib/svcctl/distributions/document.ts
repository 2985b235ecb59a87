/** Distributions over the Admin API, as the commands of `dist` read and change them. */
import { readFile } from 'node:fs/promises'
import type { AdminClient } from '../admin/client.ts'
import { getCertificate, queryOf, rejectServed } from '../certificate.ts'
import type { Context } from '../context.ts'
import { AdminError, usageError } from '../errors.ts'
import { encodeName } from '../s3/client.ts'
import { requireBucketOnly } from '../target.ts'

export interface DistributionDocument {
  readonly id: string
  readonly enabled: boolean
  readonly aliases: readonly string[]
  readonly mode: string
  readonly origin: { readonly bucket: string; readonly pathPrefix?: string }
  readonly defaultBehavior?: Readonly<Record<string, unknown>>
  readonly errorPages?: readonly { readonly status: number; readonly path: string }[]
  readonly redirects?: readonly { readonly httpsOnly?: boolean }[]
  readonly logging?: { readonly accessLog?: boolean; readonly target?: string }
  readonly tls?: { readonly certificate: string }
  readonly etag?: string
  readonly warnings?: readonly string[]
  /** The wildcards of others that answer once this one is gone. */
  readonly shadowed?: readonly {
    readonly domain: string
    readonly wildcard: string
    /** Undefined: of somebody else. */
    readonly distribution?: string
  }[]
}

export type NewDistribution = Omit<DistributionDocument, 'enabled' | 'mode'> & Partial<DistributionDocument>

export interface DistributionPlace {
  readonly client: AdminClient
  readonly alias: string
  readonly id: string
}

const pathOf = (id: string) => `/distributions/${encodeName(id)}`

/** Connects to the place that `ALIAS/ID` names. */
export async function connectTo(context: Context, text: string): Promise<DistributionPlace> {
  const target = context.remote(text)
  const id = requireBucketOnly(target)
  return { client: await context.connectAdmin(target.alias), alias: target.alias, id }
}

export async function readDistribution({ client, id }: DistributionPlace): Promise<DistributionDocument> {
  const { body } = await client.send({ operation: 'getDistribution', method: 'GET', path: pathOf(id) })
  return body as DistributionDocument
}

/** Undefined where there is none. */
export async function findDistribution(place: DistributionPlace): Promise<DistributionDocument | undefined> {
  try {
    return await readDistribution(place)
  } catch (error) {
    if (error instanceof AdminError && error.code === 'distribution_not_found') return undefined
    throw error
  }
}

/** The distribution that answers a host; undefined where none does. */
export async function ownerOf(client: AdminClient, host: string): Promise<string | undefined> {
  const query = Object.entries({ host: host.replace(/^\*\./, 'any.'), listener: 'web' })
  const { body } = await client.send({ operation: 'resolveRoute', method: 'GET', path: '/routing/resolve', query })
  return (body as { readonly distribution?: string }).distribution
}

interface PutOptions extends ForceOptions {
  readonly dryRun?: boolean
}

interface ForceOptions {
  readonly ifMatch?: string
  /** Also where domains would be without a certificate. */
  readonly force?: boolean
}

export async function putDistribution(
  { client, id }: DistributionPlace,
  document: object,
  { ifMatch, dryRun = false, force = false }: PutOptions = {},
): Promise<DistributionDocument> {
  const query = [...(dryRun ? [['dryRun', 'true'] as const] : []), ...queryOf(force)]
  const request = { operation: 'putDistribution', method: 'PUT', path: pathOf(id), query, body: document, ifMatch }
  const { body } = await client.send(request).catch(rejectServed('`svcctl dist set --force` stores it all the same.'))
  return body as DistributionDocument
}

export async function deleteDistribution(
  { client, id }: DistributionPlace,
  { ifMatch, force = false }: ForceOptions,
): Promise<void> {
  await client
    .send({ operation: 'deleteDistribution', method: 'DELETE', path: pathOf(id), query: queryOf(force), ifMatch })
    .catch(rejectServed('--force removes it all the same.'))
}

/** Reads a document from a file, `-` is standard input. Its id, if present, must be that of the target. */
export async function readDocument(context: Context, file: string, id: string): Promise<object> {
  const text = file === '-' ? await readInput(context) : await readFile(context.path(file), 'utf8')
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (error) {
    throw usageError(`${file} is not JSON: ${(error as Error).message}`)
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    throw usageError(`${file} has to hold one JSON object.`)
  }
  const own = (document as { readonly id?: unknown }).id
  if (own !== undefined && own !== id) {
    throw usageError(
      `${file} is of the distribution ${JSON.stringify(own)}, not of ${id}: name that one, or change its id.`,
    )
  }
  return { ...document, id }
}

async function readInput({ io }: Context): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of io.stdin) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}

/** Shows the server's warnings. */
export function noteWarnings({ output }: Context, { warnings = [] }: DistributionDocument): void {
  for (const warning of warnings) output.note(warning)
}

/** Notes that saving began an order, and how to watch it. */
export async function noteOrder({ output }: Context, place: DistributionPlace, stored: DistributionDocument) {
  if (stored.tls?.certificate !== 'auto') return
  const certificate = await getCertificate(place.client, stored.id).catch(error => {
    // Who may manage distributions may not always see certificates; the order is made all the same.
    if (error instanceof AdminError && error.status === 403) return undefined
    throw error
  })
  if (certificate !== undefined && stored.aliases.every(alias => certificate.domains.includes(alias))) {
    if (certificate.notAfter !== '') return
  }
  const names = stored.aliases.join(', ')
  output.note(
    `A certificate for ${names} is ordered now: \`svcctl dist cert get ${place.alias}/${stored.id}\` shows the step, and what went wrong.`,
  )
}

/** Sends the ETag that was read, so that a concurrent change is not undone. */
export async function setEnabled(place: DistributionPlace, enabled: boolean): Promise<void> {
  const document = await readDistribution(place)
  await putDistribution(place, { ...document, enabled }, { ifMatch: document.etag })
}
