import { Anchor, Button, Text } from '@mantine/core'
import { IconDownload, IconPlayerPause, IconPlayerPlay, IconPlus, IconTrash, IconUpload } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { call, urlOf } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { ConfirmDeletion, type ConfirmDeletionProps } from '../../parts/confirm-deletion.tsx'
import { notifyFailure, ProblemAlert } from '../../parts/failure.tsx'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { Name } from '../../parts/name.tsx'
import { State, Titled } from '../../parts/names.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'
import { useOpenQuestion } from '../access/open-question.tsx'
import { openedBy } from '../distributions/opened.ts'
import { Addresses } from './addresses.tsx'
import { useAskServed } from './ask-served.tsx'
import { CertificateState } from './certificate-state.tsx'
import { CreateDistribution } from './create-distribution.tsx'

const ResolveHost = lazy(async () => ({ default: (await import('./resolve-host.tsx')).ResolveHost }))
const ImportDistributions = lazy(async () => ({
  default: (await import('./import-distributions.tsx')).ImportDistributions,
}))

type Distribution = Answer<'listDistributions'>['items'][number]

export function Distributions() {
  return <DistributionList />
}

/** `bucket`: of this one alone, as a part of its page. */
export function DistributionList({ bucket }: { bucket?: string }) {
  const queryClient = useQueryClient()
  const [isCreating, setCreating] = useState(false)
  const [deleted, setDeleted] = useState<Distribution>()
  const [disabled, setDisabled] = useState<Distribution>()
  const { ask, question } = useOpenQuestion()
  const { change: changeServed, question: servedQuestion } = useAskServed()
  const refresh = () => queryClient.invalidateQueries({ queryKey: ['distributions'] })
  /** The row may be old: everything but the switch stays as it is now. */
  const change = async ({ id }: Distribution, enabled: boolean) => {
    const params = { id }
    const current = await call('getDistribution', { params })
    const body = { ...current, enabled }
    if (!(await ask(openedBy(body, current)))) return
    await call('putDistribution', { params, body, ifMatch: current.etag })
  }
  const enable = async (distribution: Distribution) => {
    try {
      await change(distribution, true)
    } catch (error) {
      notifyFailure(error)
    }
    await refresh()
  }
  const toggle = (of: Distribution) => (of.enabled ? setDisabled(of) : void enable(of))
  return (
    <>
      <ListPage
        title={texts.publishing.distributions}
        actions={
          <>
            {bucket === undefined && <Files />}
            <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setCreating(true)}>
              {bucket === undefined ? texts.distributions.create : texts.distributions.createOf}
            </Button>
          </>
        }
        isPart={bucket !== undefined}
        queryKey={['distributions', bucket ?? '']}
        load={({ cursor, signal }) =>
          call('listDistributions', { query: { cursor, ...(bucket !== undefined && { bucket }) }, signal })
        }
        columns={columnsOf(toggle, setDeleted)}
        idOf={({ id }) => id}
        none={bucket === undefined ? texts.publishing.noDistributions : texts.publishing.noneOfBucket}
      />
      {question}
      {isCreating && (
        <CreateDistribution {...(bucket !== undefined && { bucket })} onClose={() => setCreating(false)} />
      )}
      {disabled !== undefined && (
        <ConfirmDeletion
          title={texts.publishing.disableTitle(disabled.id)}
          action={texts.common.disable}
          onConfirm={() => change(disabled, false)}
          onDone={refresh}
          onClose={() => setDisabled(undefined)}
        >
          <Text size="sm">{texts.publishing.disableText(disabled.aliases.join(', '))}</Text>
        </ConfirmDeletion>
      )}
      {deleted !== undefined && (
        <DeleteDistribution
          id={deleted.id}
          onConfirm={() =>
            changeServed({ title: texts.publishing.deleteAllTheSame, action: texts.common.delete }, async query => {
              await call('deleteDistribution', { params: { id: deleted.id }, query })
            })
          }
          onDone={refresh}
          onClose={() => setDeleted(undefined)}
        />
      )}
      {servedQuestion}
    </>
  )
}

/** Where a wildcard of another distribution covers a domain, that one answers there from then on. */
function DeleteDistribution({
  id,
  ...rest
}: { id: string } & Pick<ConfirmDeletionProps, 'onConfirm' | 'onDone' | 'onClose'>) {
  // The list may be old. It is read again once this one is gone, and this is not.
  const { data, error, isFetchedAfterMount, isFetching, refetch } = useQuery({
    queryKey: ['distribution', id, 'shadowed'],
    queryFn: ({ signal }) => call('getDistribution', { params: { id }, signal }),
    staleTime: 0,
    refetchOnMount: 'always',
  })
  return (
    <ConfirmDeletion
      title={texts.publishing.deleteTitle(id)}
      typed={id}
      isReady={isFetchedAfterMount && !isFetching && data !== undefined}
      {...rest}
    >
      {error !== null && <ProblemAlert error={error} onRetry={refetch} />}
      {data !== undefined &&
        [...afterwards(data), texts.publishing.bucketStays].map(sentence => (
          <Text key={sentence} size="sm">
            {sentence}
          </Text>
        ))}
    </ConfirmDeletion>
  )
}

/** Who answers at its domains once it is gone, in sentences. */
function afterwards({ aliases, shadowed = [] }: Answer<'getDistribution'>): string[] {
  const { nobodyAnswers, otherAnswers } = texts.publishing
  const unserved = aliases.filter(alias => !shadowed.some(({ domain }) => domain === alias))
  return [
    ...[...Map.groupBy(shadowed, ({ wildcard }) => wildcard)].map(([wildcard, of]) =>
      otherAnswers(of[0]!.distribution, wildcard, of.map(({ domain }) => domain).join(', ')),
    ),
    ...(unserved.length === 0 ? [] : [nobodyAnswers(unserved.join(', '))]),
  ]
}

/** Buttons: import and export, and which distribution answers a host. */
function Files() {
  const [open, setOpen] = useState<'resolve' | 'import'>()
  const close = () => setOpen(undefined)
  return (
    <>
      <Button variant="default" leftSection={<IconUpload size={16} aria-hidden />} onClick={() => setOpen('import')}>
        {texts.distributionArchive.import}
      </Button>
      <Button
        component="a"
        href={urlOf('exportDistributions')}
        download="distributions.yaml"
        variant="default"
        leftSection={<IconDownload size={16} aria-hidden />}
      >
        {texts.distributionArchive.export}
      </Button>
      <Button variant="default" onClick={() => setOpen('resolve')}>
        {texts.resolve.action}
      </Button>
      <Suspense>
        {open === 'resolve' && <ResolveHost onClose={close} />}
        {open === 'import' && <ImportDistributions onClose={close} />}
      </Suspense>
    </>
  )
}

function columnsOf(onToggle: (of: Distribution) => void, onDelete: (of: Distribution) => void): Column<Distribution>[] {
  return [
    {
      title: texts.common.name,
      render: ({ id, comment }) => (
        <Titled
          name={
            <Anchor component={Link} to="/distributions/$id" {...({ params: { id } } as object)}>
              {id}
            </Anchor>
          }
          note={comment}
        />
      ),
    },
    {
      title: texts.publishing.domains,
      render: distribution => <Addresses of={distribution} />,
    },
    {
      title: texts.publishing.origin,
      render: ({ origin: { bucket, pathPrefix } }) => (
        <Anchor
          component={Link}
          to="/buckets/$bucket"
          className="long-name"
          {...({ params: { bucket }, search: pathPrefix === '' ? {} : { prefix: pathPrefix } } as object)}
        >
          <Name>{`${bucket}/${pathPrefix}`}</Name>
        </Anchor>
      ),
    },
    { title: texts.certificateState.column, render: distribution => <CertificateState of={distribution} /> },
    { title: texts.publishing.mode, render: ({ mode }) => mode },
    {
      title: texts.common.state,
      render: ({ enabled, blocked }) =>
        enabled && blocked ? (
          <State text={texts.distributions.blockedState} is="bad" />
        ) : (
          <State text={enabled ? texts.common.enabled : texts.common.disabled} is={enabled ? 'good' : 'neutral'} />
        ),
    },
    {
      title: texts.common.actions,
      isActions: true,
      render: distribution => (
        <>
          <Tool
            label={`${distribution.enabled ? texts.common.disable : texts.common.enable} ${distribution.id}`}
            icon={distribution.enabled ? IconPlayerPause : IconPlayerPlay}
            onClick={() => onToggle(distribution)}
          />
          <Tool
            label={`${texts.common.delete} ${distribution.id}`}
            icon={IconTrash}
            onClick={() => onDelete(distribution)}
          />
        </>
      ),
    },
  ]
}
