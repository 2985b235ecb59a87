/** The string to sign. Source: AWS "Signing and authenticating REST requests (AWS signature version 2)". */
import { authErrors, trimBlanks } from 'svc/plugins/auth-sigv4/api'
import type { SignedRequest } from 'svc/plugins/iam/api'
import type { SignedParameters } from './parameters.ts'

/**
 * What may have been signed, the likeliest first: at most eight readings of the same request. Each character is one byte. `date` is empty
 * where `x-amz-date` is among the headers, and the time of expiry for presigned requests. Throws AccessDenied where a header says
 * otherwise in the query.
 */
export function stringsToSign(request: SignedRequest, date: string, parameters: SignedParameters): readonly string[] {
  const { method, headers, rawHeaders } = request
  const [md5, type] = [textOf(headers['content-md5']), textOf(headers['content-type'])]
  const before = `${method}\n${md5}\n${type}\n${date}\n${headerBlock(headers, rawHeaders, parameters.headers)}`
  const readings = new Set<string>()
  for (const path of paths(request)) {
    for (const query of queries(request.rawQuery, parameters.subresources)) readings.add(before + path + query)
  }
  return [...readings]
}

/** With the bucket, wherever the request names it. Of the path of a bucket clients sign the slash at the end, send it, both or neither. */
function paths({ rawPath, hostBucket }: SignedRequest): readonly string[] {
  const path = hostBucket ? `/${hostBucket}${rawPath}` : rawPath || '/'
  const slash = path.indexOf('/', 1)
  if (path === '/') return [path]
  if (slash < 0) return [path, `${path}/`]
  return slash === path.length - 1 ? [path, path.slice(0, -1)] : [path]
}

/** Most parameters that botocore has in the path of an operation: `select&select-type=2`. */
const inPathMax = 2

/**
 * What may be in a path: a value that somebody chose could hold the rest of the string, and make the signature of one request that of
 * another.
 */
const constant = /^[a-zA-Z-]{1,40}(=\d?)?$/

/**
 * The sub-resources; the same without the `=` that some libraries put behind a parameter that has no value; and as botocore does since
 * 1.28, which takes the parameters that an operation always has for a part of its path, and so signs them twice (`?acl?acl`).
 */
function queries(rawQuery: string, subresources: readonly string[]): readonly string[] {
  const write = (texts: readonly string[]) => (texts.length === 0 ? '' : `?${texts.join('&')}`)
  const written = [write(subresources)]
  if (rawQuery === '') return written
  if (subresources.some(text => text.endsWith('='))) {
    written.push(write(subresources.map(text => (text.indexOf('=') === text.length - 1 ? text.slice(0, -1) : text))))
  }
  let inPath = ''
  for (const sent of rawQuery.split('&', inPathMax)) {
    if (!constant.test(sent)) break
    inPath += `${inPath === '' ? '?' : '&'}${sent}`
    written.push(inPath + written[0])
  }
  return written
}

const textOf = (value: unknown): string => (typeof value === 'string' ? trimBlanks(value) : '')

/** Every `x-amz-` header, so that none can be put in on the way. Repeated ones are joined without the blank that Node puts in. */
function headerBlock(
  headers: SignedRequest['headers'],
  rawHeaders: SignedRequest['rawHeaders'],
  inQuery: ReadonlyMap<string, string>,
): string {
  const values = new Map<string, string>()
  const add = (name: string, value: string) => {
    const known = values.get(name)
    values.set(name, known === undefined ? trimBlanks(value) : `${known},${trimBlanks(value)}`)
  }
  if (rawHeaders === undefined) {
    for (const name in headers) if (name.startsWith('x-amz-')) add(name, String(headers[name]))
  } else {
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const name = rawHeaders[i]!.toLowerCase()
      if (name.startsWith('x-amz-')) add(name, rawHeaders[i + 1]!)
    }
  }
  for (const [name, value] of inQuery) {
    if (values.has(name) && values.get(name) !== value) {
      throw authErrors.AccessDenied(`The header ${name} differs from the parameter of that name.`)
    }
    values.set(name, value)
  }
  return [...values.keys()]
    .sort()
    .map(name => `${name}:${values.get(name)}\n`)
    .join('')
}
