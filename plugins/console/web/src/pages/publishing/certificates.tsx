import { Button, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconRefresh, IconTrash, IconUpload } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { notifyFailure } from '../../parts/failure.tsx'
import { formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { Names, State, Titled } from '../../parts/names.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'
import { useAskServed } from './ask-served.tsx'
import { certificatesMs } from './awaited.ts'
import { certificateStates, stateText } from './states.ts'
import { UploadCertificate } from './upload-certificate.tsx'

type Certificate = Answer<'listCertificates'>['items'][number]

const isPaused = ({ acme }: Pick<Certificate, 'acme'>): boolean =>
  acme?.nextAttemptAt !== undefined && Date.parse(acme.nextAttemptAt) > Date.now()

export function Certificates() {
  const queryClient = useQueryClient()
  const [uploading, setUploading] = useState<'new' | Certificate>()
  const [deleted, setDeleted] = useState<Certificate>()
  const { change, question } = useAskServed()
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['certificates'] })
  const renew = async ({ id }: Certificate) => {
    try {
      const answer = await change(
        texts.publishing.orderNow,
        query => call('renewCertificate', { params: { id }, query }),
        // The limits of requests have the same code, and are no pause after a failed order.
        async ({ code }) => code === 'too_many_requests' && isPaused(await call('getCertificate', { params: { id } })),
      )
      if (answer !== 'declined') notifications.show({ color: 'teal', message: texts.publishing.renewing(id) })
    } catch (error) {
      notifyFailure(error)
    }
    await refresh()
  }
  return (
    <>
      <ListPage
        title={texts.publishing.certificates}
        actions={
          <Button leftSection={<IconUpload size={16} aria-hidden />} onClick={() => setUploading('new')}>
            {texts.publishing.uploadCertificate}
          </Button>
        }
        queryKey={['certificates']}
        refetchInterval={certificatesMs}
        load={({ cursor, signal }) => call('listCertificates', { query: { cursor }, signal })}
        columns={columnsOf(renew, setUploading, setDeleted)}
        idOf={({ id }) => id}
        none={texts.publishing.noCertificates}
      />
      {uploading !== undefined && (
        <UploadCertificate
          {...(uploading !== 'new' && { replaced: uploading })}
          onClose={() => setUploading(undefined)}
          onDone={refresh}
        />
      )}
      {deleted !== undefined && (
        <ConfirmDeletion
          title={texts.publishing.deleteTitle(deleted.id)}
          onConfirm={() =>
            change({ title: texts.publishing.deleteAllTheSame, action: texts.common.delete }, async query => {
              await call('deleteCertificate', { params: { id: deleted.id }, query })
            })
          }
          onDone={refresh}
          onClose={() => setDeleted(undefined)}
        >
          {deleted.servedFor.length > 0 && (
            <Text size="sm" fw={500}>
              {texts.publishing.deleteServed(deleted.servedFor.join(', '))}
            </Text>
          )}
          <Text size="sm">{texts.publishing.deleteCertificate(deleted.domains.join(', '))}</Text>
        </ConfirmDeletion>
      )}
      {question}
    </>
  )
}

/** How far an order is, and what the authority said when it failed. */
function OrderProgress({ acme, isPending }: { acme: NonNullable<Certificate['acme']>; isPending: boolean }) {
  const { step, attempts, lastError, failedDomains, nextAttemptAt } = acme
  return (
    <>
      {isPending && step !== '' && (
        <Text size="xs" c="dimmed">
          {texts.publishing.orderStep(step, attempts)}
        </Text>
      )}
      {lastError !== '' && (
        <Text size="xs" c="red">
          {lastError}
          {nextAttemptAt !== undefined && ` ${texts.publishing.nextTry(formatDate(nextAttemptAt))}`}
        </Text>
      )}
      {failedDomains.map(({ domain, step, error }) => (
        <Text key={domain} size="xs" c="red">
          {texts.publishing.failedDomain(domain, step, error)}
        </Text>
      ))}
    </>
  )
}

/** The distributions that name it, and the domains where visitors get it without that. */
function Uses({ of: { usedBy, servedFor } }: { of: Certificate }) {
  return (
    <>
      <Names names={usedBy} />
      {servedFor.length > 0 && (
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {texts.publishing.servedFor(servedFor.join(', '))}
        </Text>
      )}
    </>
  )
}

function columnsOf(
  onRenew: (of: Certificate) => void,
  onReplace: (of: Certificate) => void,
  onDelete: (of: Certificate) => void,
): Column<Certificate>[] {
  return [
    { title: texts.common.name, render: ({ id, comment }) => <Titled name={id} note={comment} /> },
    { title: texts.publishing.domains, render: ({ domains }) => <Names names={domains} /> },
    {
      title: texts.common.state,
      render: ({ state, acme, notAfter, refusal }) => (
        <>
          <State text={stateText({ state, notAfter }, acme !== undefined)} is={certificateStates[state]} />
          {refusal !== undefined && (
            <Text size="xs" c="red">
              {texts.server.refused(refusal)}
            </Text>
          )}
          {acme !== undefined && <OrderProgress acme={acme} isPending={state === 'pending'} />}
        </>
      ),
    },
    { title: texts.shares.expires, render: ({ notAfter }) => (notAfter === '' ? '' : formatDate(notAfter)) },
    {
      title: texts.publishing.source,
      render: ({ source, issuer }) => (issuer === '' ? source : `${source}: ${issuer}`),
    },
    { title: texts.common.used, render: certificate => <Uses of={certificate} /> },
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
          {certificate.source === 'upload' && (
            <Tool
              label={`${texts.publishing.replaceCertificate} ${certificate.id}`}
              icon={IconUpload}
              onClick={() => onReplace(certificate)}
            />
          )}
          {/* One that is ordered for a distribution goes with it, or when that names another. */}
          {(certificate.source === 'upload' || (certificate.source === 'acme' && certificate.usedBy.length === 0)) && (
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
