/** What becomes of the records that wait for an audit target which is removed: no page lists its queue then. */
import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { texts } from '../../texts/index.ts'
import { auditTargetsQuery } from '../overview/queries.ts'

export const isAuditTarget = (subsystem: string): boolean => subsystem.startsWith('audit_')

export function WaitingRecords({ name }: { readonly name: string }) {
  const targets = useQuery(auditTargetsQuery)
  // The id of a target has the name `_` where its subsystem has none.
  const id = name.includes(':') ? name : `${name}:_`
  const waiting = targets.data?.find(target => target.id === id)?.pendingRecords
  return <Text size="sm">{texts.settings.waitingRecords(waiting)}</Text>
}
