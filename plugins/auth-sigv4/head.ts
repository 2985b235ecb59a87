/** The canonical requests that a signature may cover: the expected one first, then variants of other clients. */
import type { SignedRequest } from 'svc/plugins/iam/api'
import {
  type CanonicalParts,
  canonicalQuery,
  canonicalRequest,
  foldSpaces,
  headerText,
  parseQuery,
  type QueryParameter,
} from './canonical.ts'
import { recodePath, recodePathOpen, recodeQueryText } from './encoding.ts'
import type { PresentedCredential } from './presented-credential.ts'

/** The parts of the canonical request that differ between clients. */
interface Reading {
  readonly path: string
  readonly query: string
  readonly host: string
  /** Repeated headers joined with `,` instead of the `, ` of Node.js. */
  readonly joinExactly: boolean
  readonly payload: string
}

export interface Head {
  readonly request: SignedRequest
  readonly presented: PresentedCredential
  readonly parameters: readonly QueryParameter[]
  /** The `X-Amz-Signature` parameter of a presigned request: the only one that the signature does not cover. */
  readonly signatureParameter: QueryParameter | undefined
  /** The texts that may stand for the payload, the most likely first. */
  readonly payloads: readonly [string, ...string[]]
}

/** The target as received: right for every client that signs what it sends. */
export function asSent(head: Head): string {
  const { request } = head
  return write(head, {
    path: request.rawPath === '' ? '/' : request.rawPath,
    query: head.parameters.length === 0 ? '' : canonicalQuery(head.parameters, head.signatureParameter),
    host: request.host,
    joinExactly: false,
    payload: head.payloads[0],
  })
}

/** The target in canonical encoding: what AWS would return in its error. */
export function canonical(head: Head): string {
  return write(head, { ...encodings(head)[1]!, host: head.request.host, joinExactly: false, payload: head.payloads[0] })
}

/**
 * All other canonical requests with the same meaning, at most 3 × 4 × 2 × 2: clients and proxies differ in how they escape the target,
 * whether the host includes the default port, and how repeated headers are joined.
 */
export function* otherReadings(head: Head): Generator<string> {
  const seen = new Set([asSent(head)])
  const ways = encodings(head)
  for (const payload of head.payloads) {
    for (const joinExactly of head.request.rawHeaders === undefined ? [false] : [false, true]) {
      for (const host of hosts(head.request)) {
        for (const encoding of ways) {
          const text = write(head, { ...encoding, host, joinExactly, payload })
          if (seen.has(text)) continue
          seen.add(text)
          yield text
        }
      }
    }
  }
}

function encodings({ request, parameters, signatureParameter }: Head): readonly { path: string; query: string }[] {
  const path = request.rawPath === '' ? '/' : request.rawPath
  const others = parameters.filter(parameter => parameter !== signatureParameter)
  const recoded = canonicalQuery(
    parseQuery(
      others
        .map(({ name, pair, valueStart }) => `${recodeQueryText(name)}=${recodeQueryText(pair.slice(valueStart))}`)
        .join('&'),
    ),
  )
  return [
    { path, query: canonicalQuery(others) },
    { path: recodePath(path), query: recoded },
    { path: recodePathOpen(path), query: recoded },
  ]
}

function hosts({ host, headers }: SignedRequest): readonly string[] {
  const hosts = [host]
  // The host in the client's own spelling.
  if (headers.host !== undefined && headers.host !== host && headers.host.toLowerCase() === host)
    hosts.push(headers.host)
  const colon = host.lastIndexOf(':')
  if (colon < 0 || colon < host.lastIndexOf(']')) hosts.push(`${host}:80`, `${host}:443`)
  else if (host.endsWith(':80') || host.endsWith(':443')) hosts.push(host.slice(0, colon))
  return hosts
}

function write({ request, presented }: Head, reading: Reading): string {
  const { headers } = request
  let headerBlock = ''
  for (const name of presented.names) {
    const value =
      name === 'host'
        ? reading.host
        : reading.joinExactly
          ? joinedExactly(request.rawHeaders!, name)
          : headerText(headers, name)
    headerBlock += `${name}:${value}\n`
  }
  const parts: CanonicalParts = {
    method: request.method,
    path: reading.path,
    query: reading.query,
    headerBlock,
    signedHeaders: presented.signedHeaders,
    payload: reading.payload,
  }
  return canonicalRequest(parts)
}

/** From the flat list of names and values of Node.js. */
function joinedExactly(rawHeaders: readonly string[], name: string): string {
  const values: string[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.toLowerCase() === name) values.push(foldSpaces(rawHeaders[i + 1]!))
  }
  return values.join(',')
}
