import { Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconRefresh, IconTrash } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { notifyFailure } from '../../parts/failure.tsx'
import { formatDate } from '../../parts/format.ts'
import { type Column, ListPage } from '../../parts/list-page.tsx'
import { Names, State } from '../../parts/names.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'

type Certificate = Answer<'listCertificates'>['items'][number]

export function Certificates() {
  const queryClient = useQueryClient()
  const [deleted, setDeleted] = useState<Certificate>()
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['certificates'] })
  const renew = async ({ id }: Certificate) => {
    try {
      await call('renewCertificate', { params: { id } })
      notifications.show({ color: 'teal', message: texts.publishing.renewing(id) })
    } catch (error) {
      notifyFailure(error)
    }
    await refresh()
  }
  return (
    <>
      <ListPage
        title={texts.publishing.certificates}
        queryKey={['certificates']}
        refetchInterval={5000}
        load={({ cursor, signal }) => call('listCertificates', { query: { cursor }, signal })}
        columns={columnsOf(renew, setDeleted)}
        idOf={({ id }) => id}
        none={texts.publishing.noCertificates}
      />
      {deleted !== undefined && (
        <ConfirmDeletion
          title={texts.publishing.deleteTitle(deleted.id)}
          onConfirm={async () => {
            await call('deleteCertificate', { params: { id: deleted.id } })
            await refresh()
          }}
          onClose={() => setDeleted(undefined)}
        >
          <Text size="sm">{texts.publishing.deleteCertificate(deleted.domains.join(', '))}</Text>
        </ConfirmDeletion>
      )}
    </>
  )
}

const states = { pending: 'neutral', valid: 'good', expiring: 'poor', expired: 'bad', failed: 'bad' } as const

function columnsOf(onRenew: (of: Certificate) => void, onDelete: (of: Certificate) => void): Column<Certificate>[] {
  return [
    { title: texts.common.name, render: ({ id }) => id },
    { title: texts.publishing.domains, render: ({ domains }) => <Names names={domains} /> },
    {
      title: texts.common.state,
      render: ({ state, acme }) => (
        <>
          <State text={texts.publishing.states[state]} is={states[state]} />
          {acme !== undefined && acme.lastError !== '' && (
            <Text size="xs" c="red">
              {acme.lastError}
              {acme.nextAttemptAt !== undefined && ` ${texts.publishing.nextTry(formatDate(acme.nextAttemptAt))}`}
            </Text>
          )}
        </>
      ),
    },
    { title: texts.shares.expires, render: ({ notAfter }) => (notAfter === '' ? '' : formatDate(notAfter)) },
    {
      title: texts.publishing.source,
      render: ({ source, issuer }) => (issuer === '' ? source : `${source}: ${issuer}`),
    },
    { title: texts.common.used, render: ({ usedBy }) => <Names names={usedBy} /> },
    {
      title: texts.common.actions,
      isActions: true,
      render: certificate => (
        <>
          {certificate.source === 'acme' && (
            <Tool
              label={`${texts.publishing.renew} ${certificate.id}`}
              icon={IconRefresh}
              onClick={() => onRenew(certificate)}
            />
          )}
          {certificate.source !== 'files' && (
            <Tool
              label={`${texts.common.delete} ${certificate.id}`}
              icon={IconTrash}
              onClick={() => onDelete(certificate)}
            />
          )}
        </>
      ),
    },
  ]
}
