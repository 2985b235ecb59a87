/** What both versions of the object listing share: entries, prefixes and the token between pages. */
import type { Identity } from 'svc/plugins/iam/api'
import { type ObjectSummary, objectErrors, type VersionSummary } from 'svc/plugins/objects/api'
import { escapeXml, isoTime, listingText, PreparedXml } from 'svc/plugins/s3/api'

export type Encoding = 'url' | undefined

// Entries of a page are written by hand: an object for each, and the general writer, take 2.7 times as long, a sixth of a page's time.

/** One `Contents` element per object; the owner only where it is asked for. */
export function writeObjects(
  objects: readonly ObjectSummary[],
  encoding: Encoding,
  owner: Identity | undefined,
): PreparedXml {
  const ownerXml = owner === undefined ? '' : writeOwner(owner)
  let text = ''
  for (const object of objects) {
    text += `<Contents>${writeKey(object.key, encoding)}<LastModified>${isoTime(object.modifiedMs)}</LastModified>${writeContentOf(object)}${ownerXml}<StorageClass>${object.storageClass}</StorageClass></Contents>`
  }
  return new PreparedXml(text)
}

/** Versions and delete markers in their one order: clients that read it as a stream rely on it. */
export function writeVersions(versions: readonly VersionSummary[], encoding: Encoding, owner: Identity): PreparedXml {
  const ownerXml = writeOwner(owner)
  let text = ''
  for (const version of versions) {
    const head = `${writeKey(version.key, encoding)}<VersionId>${version.versionId}</VersionId><IsLatest>${version.isLatest}</IsLatest><LastModified>${isoTime(version.modifiedMs)}</LastModified>`
    text += version.isDeleteMarker
      ? `<DeleteMarker>${head}${ownerXml}</DeleteMarker>`
      : `<Version>${head}${writeContentOf(version)}<StorageClass>${version.storageClass}</StorageClass>${ownerXml}</Version>`
  }
  return new PreparedXml(text)
}

export function writePrefixes(prefixes: readonly string[], encoding: Encoding): PreparedXml {
  let text = ''
  for (const prefix of prefixes) {
    text += `<CommonPrefixes><Prefix>${escapeXml(listingText(prefix, encoding))}</Prefix></CommonPrefixes>`
  }
  return new PreparedXml(text)
}

function writeKey(key: string, encoding: Encoding): string {
  return `<Key>${escapeXml(listingText(key, encoding))}</Key>`
}

function writeContentOf({ etag, checksumAlgorithm, checksumType, sizeBytes }: ObjectSummary): string {
  const checksum =
    checksumAlgorithm === undefined
      ? ''
      : `<ChecksumAlgorithm>${checksumAlgorithm}</ChecksumAlgorithm><ChecksumType>${checksumType}</ChecksumType>`
  return `<ETag>&quot;${etag}&quot;</ETag>${checksum}<Size>${sizeBytes}</Size>`
}

/** Writes the owner, which is the same in each entry of a page. */
function writeOwner({ ownerId, displayName }: Identity): string {
  return `<Owner><ID>${escapeXml(ownerId)}</ID><DisplayName>${escapeXml(displayName)}</DisplayName></Owner>`
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
