/** One distribution: every setting, tested before it is saved. */
import { Alert, Anchor, Button, Group, Skeleton, Stack, Tabs, Text, Title } from '@mantine/core'
import { IconAlertTriangle, IconKey } from '@tabler/icons-react'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { type FormEvent, lazy, Suspense, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { call } from '../../api/client.ts'
import { needsOf } from '../../app/cache-tabs.ts'
import type { DistributionTab } from '../../app/distribution-tabs.ts'
import { useMay, useSignedIn } from '../../app/signed-in.ts'
import { useUnsaid } from '../../parts/beside-fields.ts'
import { Conflict, isConflict } from '../../parts/conflict.tsx'
import { useFocusKept } from '../../parts/focus-kept.ts'
import { Name } from '../../parts/name.tsx'
import { useRights } from '../../parts/rights.ts'
import { SaveBar } from '../../parts/save-bar.tsx'
import { useSaving } from '../../parts/saved-form.tsx'
import { Secret, ShownOnce } from '../../parts/secret-once.tsx'
import { useShowSecret } from '../../parts/secrets-in-turn.ts'
import { useStoredDocument } from '../../parts/stored-document.tsx'
import { TabRow } from '../../parts/tab-row.tsx'
import { StaysInTabs, Unsaved, UnsavedInDocument } from '../../parts/unsaved.tsx'
import type { UnsavedForms } from '../../parts/unsaved-forms.ts'
import { Warnings } from '../../parts/warnings.tsx'
import { texts } from '../../texts/index.ts'
import { useOpenQuestion } from '../access/open-question.tsx'
import { Addresses } from '../publishing/addresses.tsx'
import { useAskServed } from '../publishing/ask-served.tsx'
import { awaitsCertificate, certificatesMs } from '../publishing/awaited.ts'
import { AllHeaders, Behaviors } from './behaviors.tsx'
import { type Distribution, documentOf, draftOf, pathPrefixOf } from './draft.ts'
import { inWords, tabOf } from './error-words.ts'
import { DraftProvider, useDraftForm } from './form.ts'
import { General } from './general.tsx'
import { openedBy } from './opened.ts'
import type { OriginSecret } from './restrictions.tsx'

const words = texts.distributions
const DistributionSettings = lazy(async () => ({
  default: (await import('../cache/distribution-settings.tsx')).DistributionSettings,
}))
const ErrorsAndRedirects = lazy(async () => ({
  default: (await import('./errors-and-redirects.tsx')).ErrorsAndRedirects,
}))
const Restrictions = lazy(async () => ({ default: (await import('./restrictions.tsx')).Restrictions }))
const SignLink = lazy(async () => ({ default: (await import('./sign-link.tsx')).SignLink }))
const TestRequest = lazy(async () => ({ default: (await import('./test-request.tsx')).TestRequest }))
const Purge = lazy(async () => ({ default: (await import('../cache/purge.tsx')).Purge }))
const WarmUp = lazy(async () => ({ default: (await import('../cache/warm-up.tsx')).WarmUp }))
const Statistics = lazy(async () => ({ default: (await import('../cache/statistics.tsx')).Statistics }))

export function DistributionPage() {
  const { id } = useParams({ from: '/inside/distributions/$id' })
  return <StoredDistribution key={id} id={id} />
}

function StoredDistribution({ id }: { id: string }) {
  const { stored, shown, failure, forms, draws, reload } = useStoredDocument({
    queryKey: ['distribution', id],
    load: signal => call('getDistribution', { params: { id }, signal }),
  })
  const [warnings, setWarnings] = useState<readonly string[]>([])
  const showSecret = useShowSecret()
  const { tab = 'general' } = useSearch({ from: '/inside/distributions/$id' })
  const navigate = useNavigate()
  const choose = (chosen: DistributionTab) =>
    void navigate({
      to: '/distributions/$id',
      params: { id },
      search: chosen === 'general' ? {} : { tab: chosen },
    })
  const served = useServed(id, stored)
  if (stored.data === undefined && failure !== null) {
    return (
      <Stack align="flex-start">
        <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
          <Name>{id}</Name>
        </Title>
        {failure}
        <Anchor component={Link} to="/distributions" underline="always">
          {words.toAll}
        </Anchor>
      </Stack>
    )
  }
  if (shown === undefined) return <Skeleton h={400} />
  return (
    <>
      {failure}
      <Editor
        stored={{ ...shown, served }}
        draws={draws}
        forms={forms}
        warnings={warnings}
        tab={tab}
        onTab={choose}
        onSaved={async saved => {
          setWarnings(saved?.warnings ?? [])
          return reload(saved)
        }}
        onRotated={made => {
          showSecret(onKept => (
            <ShownOnce title={words.newSecret} text={words.newSecretText(made.name)} onClose={onKept}>
              <Secret label={made.name} value={made.value} />
            </ShownOnce>
          ))
          void reload()
        }}
      />
    </>
  )
}

/**
 * What visitors get now. While a certificate is awaited it is asked for again, apart from the document: that would take the place of what
 * somebody is typing where another has changed it.
 */
function useServed(id: string, { data, dataUpdatedAt, isFetchedAfterMount }: UseQueryResult<Distribution>) {
  const isNewer = (asked: { readonly dataUpdatedAt: number }) => asked.dataUpdatedAt > dataUpdatedAt
  const awaits = (served: Distribution['served'] = []) => data !== undefined && awaitsCertificate({ ...data, served })
  const asked = useQuery({
    // With the version: an answer of before a change says nothing about its domains.
    queryKey: ['distribution', id, 'served', data?.etag],
    queryFn: async ({ signal }) => (await call('getDistribution', { params: { id }, signal })).served,
    enabled: isFetchedAfterMount && awaits(data?.served),
    refetchInterval: ({ state }) => awaits(isNewer(state) ? state.data : data?.served) && certificatesMs,
  })
  return (isNewer(asked) ? asked.data : data?.served) ?? []
}

interface EditorProps {
  readonly stored: Distribution
  /** How often it was read and shown anew because that was asked for. */
  readonly draws: number
  readonly forms: UnsavedForms
  readonly warnings: readonly string[]
  readonly tab: DistributionTab
  readonly onTab: (tab: DistributionTab) => void
  /** Resolves with whether what is stored now could be read. */
  readonly onSaved: (saved?: Distribution) => Promise<boolean>
  readonly onRotated: (secret: OriginSecret) => void
}

function Editor({ stored, draws, forms, warnings, tab, onTab, onSaved, onRotated }: EditorProps) {
  const { id, etag } = stored
  const form = useDraftForm(draftOf(stored))
  const [isSigning, setSigning] = useState(false)
  const maySign = useMay('admin:SignDistributionURL')
  const { ask, question } = useOpenQuestion()
  const { change, question: servedQuestion } = useAskServed()
  const put = (query: { readonly dryRun?: true; readonly force?: boolean }) =>
    call('putDistribution', {
      params: { id },
      body: documentOf(form.getValues()),
      ifMatch: etag,
      query,
    })
  const saving = useSaving({
    form,
    async confirm() {
      const values = form.getValues()
      const opened = openedBy({ ...values, origin: { ...values.origin, pathPrefix: pathPrefixOf(values) } }, stored)
      // What the server would refuse it refuses before the question; about certificates is another one.
      if (opened.length > 0) await put({ dryRun: true, force: true })
      return ask(opened)
    },
    save: () => change({ title: texts.publishing.saveAllTheSame, action: texts.common.save }, put),
    message: words.saved(id),
    stale: [['distributions']],
    reload: onSaved,
  })
  const version = `${draws} ${etag}`
  const drawn = useRef(version)
  // Drawn anew is the draft alone: forms of their own beside it keep what is typed there.
  useLayoutEffect(() => {
    if (drawn.current === version) return
    drawn.current = version
    form.setInitialValues(draftOf(stored))
    form.reset()
    if (saving.isError) saving.reset()
  })
  const panels = useRef<HTMLDivElement>(null)
  const unsaid = useUnsaid(panels, saving.error)
  useFocusKept(saving.isPending)
  // The same failure in each render: a new one would take the focus again.
  const spoken = useMemo(() => inWords(unsaid), [unsaid])
  const toFault = (error: unknown) => {
    const faulty = tabOf(error)
    if (faulty !== undefined && faulty !== tab) onTab(faulty)
  }
  const save = form.onSubmit(() => saving.mutate(undefined, { onError: toFault }))
  const isDirty = form.isDirty()
  const [discards, setDiscards] = useState(0)
  const discard = async () => {
    if (isConflict(saving.error) && !(await onSaved())) return
    form.reset()
    saving.reset()
    setDiscards(discards + 1)
  }
  const isSigned = [stored.defaultBehavior, ...stored.behaviors].some(({ access }) => access === 'signed')
  return (
    <DraftProvider form={form}>
      <StaysInTabs value>
        <Stack>
          <Group justify="space-between">
            <div>
              <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
                {id}
              </Title>
              <Addresses of={stored} isLong />
            </div>
            {maySign && isSigned && (
              <Button
                variant="default"
                leftSection={<IconKey size={16} aria-hidden />}
                onClick={() => setSigning(true)}
              >
                {words.sign}
              </Button>
            )}
          </Group>
          <UnsavedInDocument value={forms}>
            <Unsaved isDirty={isDirty} isQuiet />
          </UnsavedInDocument>
          <Conflict error={spoken} onLoad={() => onSaved()} />
          {stored.enabled && stored.blocked && <Blocked bucket={stored.origin.bucket} />}
          {stored.logEnded && (
            <Alert color="orange" icon={<IconAlertTriangle aria-hidden />}>
              {words.logEnded(stored.logging.target ?? '')}
            </Alert>
          )}
          <Warnings warnings={warnings} />
          <div ref={panels}>
            <Sections
              error={saving.error}
              isSaving={saving.isPending}
              stored={stored}
              version={version}
              tab={tab}
              onTab={onTab}
              onSave={save}
              onRotated={onRotated}
              discards={discards}
            />
          </div>
          {isDirty && isDraftTab(tab) && (
            <SaveBar isSaving={saving.isPending} onSave={() => save()} onDiscard={() => void discard()} />
          )}
        </Stack>
      </StaysInTabs>
      {question}
      {servedQuestion}
      <Suspense>{isSigning && <SignLink of={stored} onClose={() => setSigning(false)} />}</Suspense>
    </DraftProvider>
  )
}

function Blocked({ bucket }: { bucket: string }) {
  return (
    <Alert color="orange" icon={<IconAlertTriangle aria-hidden />}>
      {words.blocked(bucket)}{' '}
      <Anchor
        component={Link}
        to="/buckets/$bucket"
        underline="always"
        inherit
        {...({ params: { bucket }, search: { tab: 'access' } } as object)}
      >
        {words.toBlock}
      </Anchor>
    </Alert>
  )
}

interface SectionsProps {
  /** Of the last attempt to save. */
  readonly error: unknown
  readonly isSaving: boolean
  readonly stored: Distribution
  /** Of what is stored, with how often it was read again. */
  readonly version: string
  readonly tab: DistributionTab
  readonly onTab: (tab: DistributionTab) => void
  readonly onSave: (event?: FormEvent<HTMLFormElement>) => void
  readonly onRotated: (secret: OriginSecret) => void
  /** How often what was typed was given up: fields that keep something of their own are drawn anew. */
  readonly discards: number
}

/** Tabs that are no part of the draft: what they change they change at once. */
const ofCache = ['cache', 'purge', 'warmup', 'statistics'] as const
const isDraftTab = (tab: string): boolean => !ofCache.includes(tab as 'cache')

function Sections({ error, isSaving, stored, version, tab, onTab, onSave, onRotated, discards }: SectionsProps) {
  const { id, mode } = stored
  const { bucket } = stored.origin
  const rights = useRights(bucket)
  const { allowed } = useSignedIn()
  const may: Readonly<Record<string, boolean>> = {
    cache: needsOf.settings.some(action => rights.has(action)),
    purge: needsOf.purge.some(action => rights.has(action)),
    // Of an S3 endpoint no page is cached.
    warmup: mode !== 's3' && needsOf.warmup.some(action => rights.has(action)),
    // Its figures are of the whole server.
    statistics: needsOf.statistics.some(action => allowed.has(action)),
  }
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  if (!opened.has(tab)) setOpened(new Set([...opened, tab]))
  /** A form of its own: what is typed there stays while another tab is looked at. */
  const kept = (value: string) => ({ value, keepMounted: opened.has(value) })
  const shown = Object.entries(words.tabs).filter(([name]) => may[name] ?? true)
  const panels = {
    general: <General of={stored} />,
    behaviors: <Behaviors error={error} />,
    pages: <ErrorsAndRedirects />,
    headers: <AllHeaders />,
    restrictions: <Restrictions id={id} onRotated={onRotated} />,
  }
  return (
    <Tabs
      value={tab}
      onChange={value => onTab((value ?? 'general') as DistributionTab)}
      keepMounted={false}
      keepMountedMode="display-none"
    >
      <TabRow chosen={tab} tabs={shown} />
      {Object.entries(panels).map(([name, panel]) => (
        <Tabs.Panel key={name} value={name}>
          {/*
           * The browser knows only the fields that are open: the server looks at all. What is typed while they are on their way would be
           * gone when they are drawn anew.
           */}
          <form key={`${version} ${discards}`} noValidate onSubmit={onSave} inert={isSaving}>
            <Suspense fallback={<Skeleton h={240} />}>{panel}</Suspense>
          </form>
        </Tabs.Panel>
      ))}
      <Suspense fallback={<Skeleton h={240} />}>
        <Tabs.Panel {...kept('test')}>
          <TestRequest of={stored} />
        </Tabs.Panel>
        <Tabs.Panel {...kept('cache')}>
          <DistributionSettings id={id} mode={mode} />
        </Tabs.Panel>
        <Tabs.Panel {...kept('purge')}>
          <Stack>
            {mode === 's3' && <Text>{texts.cache.noneInS3}</Text>}
            <Purge distribution={id} />
          </Stack>
        </Tabs.Panel>
        <Tabs.Panel {...kept('warmup')}>
          {mode === 's3' ? <Text>{texts.cache.noneInS3}</Text> : <WarmUp distribution={id} />}
        </Tabs.Panel>
        <Tabs.Panel value="statistics">
          <Statistics distribution={id} mode={mode} />
        </Tabs.Panel>
      </Suspense>
    </Tabs>
  )
}
