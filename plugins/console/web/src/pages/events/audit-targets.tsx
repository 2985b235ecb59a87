/** Where audit records go, as the targets of events: they have the same settings, and the same ways to fail. */
import { Anchor, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { formatCount, formatDate, formatMoment } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { Titled } from '../../parts/names.tsx'
import { texts } from '../../texts/index.ts'
import { TargetState } from './target-state.tsx'

const words = texts.auditTargets

type Target = Answer<'listAuditTargets'>['items'][number]

export function AuditTargets({ startedAt }: { readonly startedAt: string | undefined }) {
  const mayRead = useMay('admin:GetConfig')
  const maySeeServer = useMay('admin:ServerInfo')
  if (!mayRead && !maySeeServer) return null
  return (
    <ListPage
      title={words.title}
      isPart
      head={
        <Text size="sm" c="dimmed">
          {words.hint}{' '}
          {mayRead && (
            <Anchor component={Link} to="/settings" underline="always" inherit>
              {words.settings}
            </Anchor>
          )}
        </Text>
      }
      queryKey={['audit-targets']}
      refetchInterval={5000}
      load={({ signal }) => call('listAuditTargets', { signal })}
      columns={columnsOf(startedAt)}
      idOf={({ id }) => id}
    />
  )
}

const columnsOf = (startedAt: string | undefined): Column<Target>[] => [
  { title: texts.events.target, render: ({ id, endpoint }) => <Titled name={id} note={endpoint} /> },
  { title: texts.common.state, render: target => <TargetState {...target} /> },
  { title: texts.events.pending, isNumber: true, render: ({ pendingRecords }) => formatCount(pendingRecords) },
  { title: texts.events.deadLetters, isNumber: true, render: ({ deadLetters }) => formatCount(deadLetters) },
  { title: words.dropped, isNumber: true, render: ({ droppedTotal }) => formatCount(droppedTotal) },
  {
    title: texts.events.lastError,
    render: ({ lastError, lastErrorAt }) =>
      lastError !== '' && <Titled name={lastError} note={lastErrorAt === undefined ? '' : formatMoment(lastErrorAt)} />,
  },
  {
    title: texts.events.lastSuccess,
    render: ({ lastSuccessAt }) =>
      lastSuccessAt === undefined
        ? texts.events.noneSince(startedAt && formatDate(startedAt))
        : formatMoment(lastSuccessAt),
  },
]
