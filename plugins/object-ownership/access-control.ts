/**
 * Access control lists, as requests ask for them and as answers show them. Where they are off, the one list that everything has says
 * that the owner may do everything. Where they are on, the canned lists count that speak of everybody or of every user; grants to other
 * accounts are refused, as there are none. Source: AWS S3 User Guide, "Access control list (ACL) overview".
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Identity } from 'svc/plugins/iam/api'
import { type CannedAcl, objectErrors } from 'svc/plugins/objects/api'
import { childrenNamed, childText, type S3Request, s3Errors, type XmlNode, type XmlValue } from 'svc/plugins/s3/api'
import { ownershipErrors } from './errors.ts'

const xsi = 'Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type'
const userGrantee = `${xsi}="CanonicalUser"`
const groupGrantee = `${xsi}="Group"`
const everybody = 'http://acs.amazonaws.com/groups/global/AllUsers'
const everyUser = 'http://acs.amazonaws.com/groups/global/AuthenticatedUsers'

/** What a list grants beside the owner's rights, sorted. */
const grantsOf: Readonly<Record<CannedAcl, readonly string[]>> = {
  'public-read': [`READ ${everybody}`],
  'public-read-write': [`READ ${everybody}`, `WRITE ${everybody}`],
  'authenticated-read': [`READ ${everyUser}`],
}

/** `acl`: undefined for the owner's list. */
export function describeAccessControl({ ownerId, displayName }: Identity, acl?: CannedAcl): XmlValue {
  const owner = { ID: ownerId, DisplayName: displayName }
  const others = (acl === undefined ? [] : grantsOf[acl]).map(grant => {
    const [permission, uri] = grant.split(' ')
    return { [groupGrantee]: { URI: uri! }, Permission: permission! }
  })
  return {
    Owner: owner,
    AccessControlList: { Grant: [{ [userGrantee]: owner, Permission: 'FULL_CONTROL' }, ...others] },
  }
}

/** Resolves where the request asks for the list that holds anyway. Rejects with AccessControlListNotSupported for any other. */
export async function requireFixedAccessControl(request: S3Request, owner: Identity): Promise<void> {
  await request.refuseAcl('object')
  const xml = requireOneForm(request, request.headers['x-amz-acl'] !== undefined)
  if (xml === undefined) return
  const [grant, ...more] = readList(xml, owner)
  const isFixed = more.length === 0 && grant?.grantee === owner.ownerId && grant.permission === 'FULL_CONTROL'
  if (!isFixed) throw s3Errors.AccessControlListNotSupported()
}

/** The list that Put…Acl asks for where lists are on; undefined for the owner's. */
export function readAccessControl(request: S3Request, owner: Identity): CannedAcl | undefined {
  const { headers } = request
  const xml = requireOneForm(request, asksForAcl(headers))
  return xml === undefined ? readAclHeaders(headers, owner) : cannedAclOf(readList(xml, owner), owner)
}

/** The body, which stands in the place of headers. */
function requireOneForm({ xml }: S3Request, hasHeaders: boolean): XmlNode | undefined {
  if (xml !== undefined && hasHeaders) throw ownershipErrors.UnexpectedContent()
  if (xml === undefined && !hasHeaders) {
    throw ownershipErrors.MissingSecurityHeader(undefined, { extra: { MissingHeaderName: 'x-amz-acl' } })
  }
  return xml
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

const permissionOfHeader: ReadonlyMap<string, string> = new Map([
  ['x-amz-grant-full-control', 'FULL_CONTROL'],
  ['x-amz-grant-read', 'READ'],
  ['x-amz-grant-read-acp', 'READ_ACP'],
  ['x-amz-grant-write', 'WRITE'],
  ['x-amz-grant-write-acp', 'WRITE_ACP'],
])

export function asksForAcl(headers: IncomingHttpHeaders): boolean {
  return headers['x-amz-acl'] !== undefined || [...permissionOfHeader.keys()].some(name => headers[name] !== undefined)
}

/** Lists that are the owner's: nobody else has an account. */
const ownersLists = new Set(['private', 'bucket-owner-read', 'bucket-owner-full-control'])
/** Lists that grant something to accounts of AWS. */
const foreignLists = new Set(['aws-exec-read', 'log-delivery-write'])

/** The list that headers of a request ask for; undefined for the owner's, and where they ask for none. */
export function readAclHeaders(headers: IncomingHttpHeaders, owner: Identity): CannedAcl | undefined {
  const canned = headers['x-amz-acl']
  const grants = [...permissionOfHeader].flatMap(([name, permission]) => readGrants(headers[name], name, permission))
  if (canned === undefined) return cannedAclOf(grants, owner)
  if (grants.length > 0) {
    throw objectErrors.InvalidRequest('Specifying both Canned ACLs and Header Grants is not allowed')
  }
  const name = String(canned)
  if (ownersLists.has(name)) return undefined
  if (foreignLists.has(name)) throw s3Errors.AccessControlListNotSupported()
  if (!Object.hasOwn(grantsOf, name)) {
    throw objectErrors.InvalidArgument(`"${name}" is no canned ACL.`, {
      extra: { ArgumentName: 'x-amz-acl', ArgumentValue: name },
    })
  }
  return name as CannedAcl
}

interface Grant {
  /** The id of an account, or the address of a group. */
  readonly grantee: string | undefined
  readonly permission: string
}

/** `uri="…", id="…"`. */
function readGrants(value: string | string[] | undefined, name: string, permission: string): readonly Grant[] {
  if (value === undefined) return []
  return String(value)
    .split(',')
    .map(part => {
      const grantee = readGrantee(part)
      if (grantee === undefined) {
        throw objectErrors.InvalidArgument('Argument format not recognized', {
          extra: { ArgumentName: name, ArgumentValue: String(value) },
        })
      }
      return { grantee, permission }
    })
}

const granteeKinds = new Set(['id', 'uri', 'emailaddress'])

/** Of one grantee. By hand: patterns with blanks at both ends of each part take time by a power of their number. */
function readGrantee(part: string): string | undefined {
  const [kind, ...rest] = part.split('=')
  if (!granteeKinds.has(kind!.trim().toLowerCase())) return undefined
  const text = rest.join('=').trim()
  const isQuoted = text.length > 1 && text.startsWith('"') && text.endsWith('"')
  const grantee = (isQuoted ? text.slice(1, -1) : text).trim()
  return grantee === '' || grantee.includes('"') ? undefined : grantee
}

function cannedAclOf(grants: readonly Grant[], { ownerId }: Identity): CannedAcl | undefined {
  const others = grants.filter(({ grantee }) => grantee !== ownerId)
  if (others.length === 0) return undefined
  const said = [...new Set(others.map(({ grantee, permission }) => `${permission} ${grantee}`))].sort().join()
  for (const acl of Object.keys(grantsOf) as CannedAcl[]) if (grantsOf[acl].join() === said) return acl
  throw s3Errors.AccessControlListNotSupported('Grants that are no canned access control list are not supported.')
}

const permissions: ReadonlySet<string> = new Set(permissionOfHeader.values())

function readList(xml: XmlNode, { ownerId }: Identity): readonly Grant[] {
  const lists = childrenNamed(xml, 'AccessControlList')
  const owners = childrenNamed(xml, 'Owner')
  if (lists.length !== 1 || owners.length > 1) {
    throw ownershipErrors.MalformedACLError('AccessControlPolicy holds an Owner and one AccessControlList.')
  }
  const grants = lists[0]!.children.map(readGrant)
  if (owners.some(owner => (childText(owner, 'ID') ?? ownerId) !== ownerId)) {
    throw s3Errors.AccessControlListNotSupported()
  }
  return grants
}

function readGrant(grant: XmlNode): Grant {
  const grantees = childrenNamed(grant, 'Grantee')
  const permission = childText(grant, 'Permission')
  if (grantees.length !== 1 || permission === undefined || !permissions.has(permission)) {
    throw ownershipErrors.MalformedACLError('A Grant has a Grantee and a Permission.')
  }
  return { grantee: childText(grantees[0]!, 'ID') ?? childText(grantees[0]!, 'URI'), permission }
}
