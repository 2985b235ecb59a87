import { call } from '../api/client.ts'

/** Attaches and detaches what differs; both are requests of their own, so the first may have worked where the second fails. */
export async function changePolicies(
  target: { readonly user: string } | { readonly group: string },
  before: readonly string[],
  after: readonly string[],
): Promise<void> {
  const attached = after.filter(name => !before.includes(name))
  const detached = before.filter(name => !after.includes(name))
  if (attached.length > 0) await call('attachPolicies', { body: { ...target, policyNames: attached } })
  if (detached.length > 0) await call('detachPolicies', { body: { ...target, policyNames: detached } })
}
