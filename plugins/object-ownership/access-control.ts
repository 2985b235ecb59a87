/**
 * The one access control list that everything has: the owner may do everything. Source: AWS S3 User Guide, "Controlling ownership of
 * objects and disabling ACLs": requests that say just this are accepted, every other one is refused.
 */
import type { Identity } from 'svc/plugins/iam/api'
import { childrenNamed, childText, type S3Request, s3Errors, type XmlNode, type XmlValue } from 'svc/plugins/s3/api'
import { ownershipErrors } from './errors.ts'

const grantee = 'Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"'

export function describeAccessControl({ ownerId, displayName }: Identity): XmlValue {
  const owner = { ID: ownerId, DisplayName: displayName }
  return { Owner: owner, AccessControlList: { Grant: { [grantee]: owner, Permission: 'FULL_CONTROL' } } }
}

/** Resolves where the request asks for the list that holds anyway. Rejects with AccessControlListNotSupported for any other. */
export async function requireFixedAccessControl(request: S3Request, owner: Identity): Promise<void> {
  const { headers, xml } = request
  await request.refuseAcl('object')
  const isCanned = headers['x-amz-acl'] !== undefined
  if (xml === undefined) {
    if (isCanned) return
    throw ownershipErrors.MissingSecurityHeader(undefined, { extra: { MissingHeaderName: 'x-amz-acl' } })
  }
  if (isCanned) throw ownershipErrors.UnexpectedContent()
  requireOwnersList(xml, owner)
}

/** What the document may hold. */
export const accessControlElements = {
  Owner: { ID: 'text', DisplayName: 'text' },
  AccessControlList: {
    Grant: {
      Grantee: { ID: 'text', DisplayName: 'text', EmailAddress: 'text', URI: 'text' },
      Permission: 'text',
    },
  },
} as const

function requireOwnersList(xml: XmlNode, { ownerId }: Identity): void {
  const lists = childrenNamed(xml, 'AccessControlList')
  const owners = childrenNamed(xml, 'Owner')
  if (lists.length !== 1 || owners.length > 1) {
    throw s3Errors.MalformedXML('AccessControlPolicy holds an Owner and one AccessControlList.')
  }
  const isOwn = owners.every(owner => (childText(owner, 'ID') ?? ownerId) === ownerId)
  const grants = lists[0]!.children.map(readGrant)
  const isFixed = grants.length === 1 && grants[0]!.granteeId === ownerId && grants[0]!.permission === 'FULL_CONTROL'
  if (!isOwn || !isFixed) throw s3Errors.AccessControlListNotSupported()
}

const permissions = new Set(['FULL_CONTROL', 'READ', 'READ_ACP', 'WRITE', 'WRITE_ACP'])

function readGrant(grant: XmlNode): { readonly granteeId: string | undefined; readonly permission: string } {
  const grantees = childrenNamed(grant, 'Grantee')
  const permission = childText(grant, 'Permission')
  if (grantees.length !== 1 || permission === undefined || !permissions.has(permission)) {
    throw s3Errors.MalformedXML('A Grant has a Grantee and a Permission.')
  }
  return { granteeId: childText(grantees[0]!, 'ID'), permission }
}
