/** What both versions of the object listing share: entries, prefixes and the token between pages. */
import type { Identity } from 'svc/plugins/iam/api'
import { type ObjectSummary, objectErrors } from 'svc/plugins/objects/api'
import { isoTime, listingText, quoteEtag, type XmlValue } from 'svc/plugins/s3/api'

export type Encoding = 'url' | undefined

/** One `Contents` element per object; the owner only where it is asked for. */
export function describeObjects(
  objects: readonly ObjectSummary[],
  encoding: Encoding,
  owner: Identity | undefined,
): readonly XmlValue[] {
  const Owner = owner === undefined ? undefined : { ID: owner.ownerId, DisplayName: owner.displayName }
  return objects.map(object => ({
    Key: listingText(object.key, encoding),
    LastModified: isoTime(object.modifiedMs),
    ETag: quoteEtag(object.etag),
    ChecksumAlgorithm: object.checksumAlgorithm,
    ChecksumType: object.checksumType,
    Size: object.sizeBytes,
    Owner,
    StorageClass: object.storageClass,
  }))
}

export function describePrefixes(prefixes: readonly string[], encoding: Encoding): readonly XmlValue[] {
  return prefixes.map(prefix => ({ Prefix: listingText(prefix, encoding) }))
}

const tokenVersion = '1'

/** The token holds the place itself, so that any node and any later version can go on from it. */
export function writeToken(place: string): string {
  return Buffer.from(tokenVersion + place, 'utf8').toString('base64url')
}

/** Throws InvalidArgument for what no listing of ours gave out. */
export function readToken(token: string): string {
  const bytes = Buffer.from(token, 'base64url')
  const text = bytes.toString('utf8')
  const isOurs = text.startsWith(tokenVersion) && text.length > 1 && bytes.toString('base64url') === token
  if (!isOurs || !Buffer.from(text, 'utf8').equals(bytes)) {
    throw objectErrors.InvalidArgument('The continuation token provided is incorrect', {
      extra: { ArgumentName: 'continuation-token', ArgumentValue: token },
    })
  }
  return text.slice(1)
}
