/** Certificates as the commands `dist cert …` send and show them. */
import { readFile, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AdminClient } from './admin/client.ts'
import type { ArgumentDeclaration, OptionDeclaration } from './command.ts'
import type { Context } from './context.ts'
import { AdminError, conflictError, failure, usageError } from './errors.ts'
import { createOrderProgress } from './order-progress.ts'
import { encodeName } from './s3/client.ts'

export interface Certificate {
  readonly id: string
  readonly source: string
  readonly state: string
  readonly domains: readonly string[]
  readonly issuer: string
  readonly serial: string
  readonly keyType: string
  readonly notBefore: string
  readonly notAfter: string
  readonly fingerprint: string
  readonly comment: string
  readonly usedBy: readonly string[]
  /** Of an upload. */
  readonly warnings?: readonly string[]
  readonly acme?: {
    readonly directory: string
    readonly challenge?: string
    readonly step: string
    readonly attempts: number
    readonly lastError: string
    readonly nextAttemptAt?: string
    readonly failedDomains: readonly { readonly domain: string; readonly step: string; readonly error: string }[]
  }
}

/** Chains and keys have a few KiB. */
const fileBytesMax = 256 * 1024
const askedEveryMs = 250

export const certificateArguments: readonly ArgumentDeclaration[] = [
  { name: 'alias', summary: 'of the server', kind: 'alias' },
  { name: 'id', summary: 'of the certificate', kind: 'text' },
]

export interface UploadOptions {
  readonly cert: string
  readonly key: string
  readonly comment?: string
}

export const uploadOptions: readonly OptionDeclaration[] = [
  { flags: '--cert <file>', summary: 'the chain in PEM form, leaf first' },
  { flags: '--key <file>', summary: 'its private key in PEM form, unencrypted' },
  { flags: '--comment <text>', summary: 'its purpose' },
]

export const queryOf = (isForced: boolean) => (isForced ? [['force', 'true'] as const] : [])

/** Says what `--force` does, where domains would be without a certificate. */
export function rejectServed(hint: string) {
  return (error: unknown): never => {
    if (!(error instanceof AdminError) || error.code !== 'certificate_served') throw error
    throw conflictError(`${error.message} ${hint}`)
  }
}

export const pathOf = (id: string): string => `/certificates/${encodeName(id)}`

/** The body of an upload, from its files. */
export async function readUpload(context: Context, { cert, key, comment = '' }: Partial<UploadOptions>) {
  if (cert === undefined || key === undefined) throw usageError('Name the files: --cert FILE --key FILE.')
  return { certificate: await readPem(context, cert), privateKey: await readPem(context, key), comment }
}

async function readPem(context: Context, name: string): Promise<string> {
  const path = context.path(name)
  const { size } = await stat(path)
  if (size > fileBytesMax) throw failure('too_large', `${name} is larger than any certificate or key.`)
  return readFile(path, 'utf8')
}

export async function getCertificate(client: AdminClient, id: string): Promise<Certificate> {
  return (await client.send({ operation: 'getCertificate', method: 'GET', path: pathOf(id) })).body as Certificate
}

export function showCertificate({ output }: Context, certificate: Certificate): void {
  output.result({ ...certificate }, ...describe(certificate))
  for (const warning of certificate.warnings ?? []) output.note(warning)
}

/** After a failure the next order is another attempt, otherwise the renewal. */
export function nextOrderOf({ acme }: Certificate): { readonly renews?: string; readonly nextAttempt?: string } {
  if (acme?.nextAttemptAt === undefined) return {}
  return acme.attempts > 0 ? { nextAttempt: acme.nextAttemptAt } : { renews: acme.nextAttemptAt }
}

/**
 * The state for a person: an order for the successor of a certificate that is still presented does not make the certificate itself
 * pending or failed.
 */
export function stateOf(certificate: Certificate, nowMs = Date.now()): string {
  const { state, acme, notBefore, notAfter } = certificate
  const isPresented = notAfter !== '' && Date.parse(notBefore) <= nowMs && nowMs < Date.parse(notAfter)
  if (acme === undefined || !isPresented) return state
  if (state === 'pending') return 'valid, renewal under way'
  if (state !== 'failed') return state
  const without = acme.failedDomains.map(({ domain }) => domain).filter(domain => !certificate.domains.includes(domain))
  return without.length > 0 ? `valid, without ${without.join(', ')}` : 'valid, renewal failed'
}

function describe(certificate: Certificate): string[] {
  const { id, source, domains, issuer, keyType, notBefore, notAfter, fingerprint, usedBy, comment, acme } = certificate
  const rows: [string, string][] = [
    ['id', id],
    ['source', source],
    ['state', stateOf(certificate)],
    ['names', domains.join(', ')],
    ['issuer', issuer],
    ['key', keyType],
    ['valid', notAfter === '' ? '' : `${notBefore} to ${notAfter}`],
    ['SHA-256', fingerprint],
    ['used by', usedBy.join(', ')],
    ['comment', comment],
    ['authority', acme?.directory ?? ''],
    ['step', acme?.step ?? ''],
    ['last error', acme?.lastError ?? ''],
    ...(acme?.failedDomains ?? []).map(({ domain, step, error }): [string, string] => [
      'failed',
      `${domain}: ${step}: ${error}`,
    ]),
    ['renews', nextOrderOf(certificate).renews ?? ''],
    ['next attempt', nextOrderOf(certificate).nextAttempt ?? ''],
  ]
  return rows.filter(([, value]) => value !== '').map(([name, value]) => `${name.padEnd(13)}${value}`)
}

/** Shows the phases of the order; resolves with the certificate when nothing is under way any more, rejects when the order has failed. */
export async function waitForOrder(context: Context, client: AdminClient, id: string): Promise<Certificate> {
  const progress = createOrderProgress(context)
  for (;;) {
    const certificate = await getCertificate(client, id)
    const { acme, state } = certificate
    if (acme === undefined || (acme.step === '' && state !== 'pending')) {
      if (state !== 'failed') {
        progress.issued(acme?.challenge)
        return certificate
      }
      progress.failed()
      const next = acme?.nextAttemptAt === undefined ? '' : ` It is tried again at ${acme.nextAttemptAt}.`
      throw failure('order_failed', `${acme?.lastError ?? 'The order has failed.'}${next}`)
    }
    progress.reached(acme.step, acme.challenge)
    await sleep(askedEveryMs)
  }
}
