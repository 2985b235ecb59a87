/** The public views of stored documents. They contain no secrets. */
import type { StoredDocument } from 'svc/plugins/store/api'
import type { AccessKey, Group, User } from './api.ts'
import type { Context } from './context.ts'
import { type AccessKeyDocument, allOf, type Documents, type GroupDocument, type UserDocument } from './documents.ts'
import { noGroup, noUser } from './errors.ts'
import type { KeyIndex } from './key-index.ts'
import { nameSet } from './names.ts'

export async function requireUser({ users }: Documents, name: string): Promise<StoredDocument<UserDocument>> {
  const user = await users.get(name)
  if (user === undefined) throw noUser(name)
  return user
}

export async function requireGroup({ groups }: Documents, name: string): Promise<StoredDocument<GroupDocument>> {
  const group = await groups.get(name)
  if (group === undefined) throw noGroup(name)
  return group
}

export async function describeUser(
  { groups }: Documents,
  { id, value, modifiedMs }: StoredDocument<UserDocument>,
  keys: Pick<KeyIndex, 'countOf'>,
): Promise<User> {
  const effective = [...value.policyNames]
  for (const name of value.groups) {
    const group = await groups.get(name)
    if (group?.value.status === 'enabled') effective.push(...group.value.policyNames)
  }
  return {
    accessKey: id,
    status: value.status,
    description: value.description,
    groups: value.groups,
    policyNames: value.policyNames,
    effectivePolicyNames: nameSet(effective),
    accessKeyCount: keys.countOf(value.uid),
    createdMs: value.createdMs,
    updatedMs: modifiedMs,
  }
}

/** Members of each group, sorted. */
export async function membersByGroup({ users }: Documents): Promise<ReadonlyMap<string, readonly string[]>> {
  const members = new Map<string, string[]>()
  for await (const { id, value } of allOf(users)) {
    for (const group of value.groups) {
      const list = members.get(group)
      if (list === undefined) members.set(group, [id])
      else list.push(id)
    }
  }
  return members
}

export function describeGroup(
  { id, value, modifiedMs }: StoredDocument<GroupDocument>,
  members: ReadonlyMap<string, readonly string[]>,
): Group {
  return {
    name: id,
    status: value.status,
    description: value.description,
    members: members.get(id) ?? [],
    policyNames: value.policyNames,
    createdMs: value.createdMs,
    updatedMs: modifiedMs,
  }
}

export async function describeAccessKey(
  { id, value, modifiedMs, etag }: StoredDocument<AccessKeyDocument>,
  { owner, clock, lastUses }: Pick<Context, 'owner' | 'clock' | 'lastUses'>,
): Promise<AccessKey> {
  const { status, expiresMs } = value
  const isExpired = expiresMs !== undefined && expiresMs <= clock.now()
  return {
    accessKey: id,
    user: value.owner?.name ?? owner.accessKey,
    kind: value.kind,
    name: value.name,
    description: value.description,
    status,
    state: status === 'disabled' ? 'disabled' : isExpired ? 'expired' : 'active',
    expiresMs,
    policy: value.policy,
    share: value.share,
    createdBy: value.createdBy,
    createdMs: value.createdMs,
    updatedMs: modifiedMs,
    etag,
    lastUsedMs: await lastUses.get(id, value.createdMs),
  }
}
