/** Purges: by path, pattern, tag, domain, or everything; what they would hit, and what became of the last ones. */
import { Alert, Button, Checkbox, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { formErrorsOf } from '../../api/problem.ts'
import { needsOf } from '../../app/cache-tabs.ts'
import { useSignedIn } from '../../app/signed-in.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { useForm } from '../../parts/form.ts'
import { formatCount } from '../../parts/format.ts'
import { TagsInput } from '../../parts/tags-input.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'
import { DistributionName } from './distribution-names.tsx'
import { Invalidations } from './invalidations.tsx'
import { linesOf } from './lines.ts'
import type { PatternDraft } from './patterns.tsx'
import { refuseDistribution } from './refuse-distribution.ts'
import { PagesInput, TaskForm } from './task-form.tsx'

const words = cacheTexts.cachePurge

export interface PurgeDraft {
  readonly distribution: string
  readonly domain: string
  /** One a line. */
  readonly paths: string
  readonly patterns: readonly PatternDraft[]
  readonly tags: string[]
  readonly all: boolean
  readonly soft: boolean
}

type Invalidation = Answer<'createInvalidation'>

const empty = { domain: '', paths: '', patterns: [], tags: [], all: false, soft: false }

/** `distribution`: the only one whose answers are purged; absent: one may choose. */
export function Purge({ distribution }: { distribution?: string }) {
  const form = useForm<PurgeDraft>({ initialValues: { ...empty, distribution: distribution ?? '' } })
  const queryClient = useQueryClient()
  // Of one bucket alone one may purge and not look at what others have purged.
  const { allowed } = useSignedIn()
  const mayWatch = needsOf.inspect.some(action => allowed.has(action))
  const [isConfirming, setConfirming] = useState(false)
  const preview = useMutation({
    // For what is asked now: its answer says nothing of what is changed afterwards.
    mutationFn: (_asked: string) => send(form.getValues(), true),
    onMutate: form.clearErrors,
    onError: error => form.setErrors(formErrorsOf(error)),
  })
  const purging = useMutation({
    mutationFn: () => send(form.getValues(), false),
    onMutate: form.clearErrors,
    onError: error => form.setErrors(formErrorsOf(error)),
    async onSuccess({ id }) {
      notifications.show({ color: 'teal', message: words.sent(id) })
      preview.reset()
      form.setValues({ ...empty, distribution: form.values.distribution })
      await queryClient.invalidateQueries({ queryKey: ['invalidations'] })
      await queryClient.invalidateQueries({ queryKey: ['cache-webhooks'] })
      await queryClient.invalidateQueries({ queryKey: ['cache-stats'] })
    },
  })
  const asked = JSON.stringify(form.values)
  const look = () => {
    purging.reset()
    preview.mutate(asked)
  }
  const submit = () => (form.values.all ? setConfirming(true) : purging.mutate())
  return (
    <Stack gap="xl">
      <TaskForm
        hint={words.whatHint}
        onSubmit={form.onSubmit(submit)}
        error={purging.error ?? preview.error}
        isSending={purging.isPending}
        setErrors={form.setErrors}
        actions={
          <>
            <Button variant="default" loading={preview.isPending} onClick={look}>
              {words.preview}
            </Button>
            <Button type="submit" loading={purging.isPending}>
              {words.submit}
            </Button>
          </>
        }
      >
        <Selectors form={form} isFixed={distribution !== undefined} />
        {preview.data !== undefined && preview.variables === asked && <WouldHit invalidation={preview.data} />}
      </TaskForm>
      {mayWatch && <Invalidations {...(distribution !== undefined && { distribution })} />}
      {isConfirming && (
        <ConfirmAll
          draft={form.values}
          onConfirm={async () => void (await purging.mutateAsync())}
          onClose={() => setConfirming(false)}
        />
      )}
    </Stack>
  )
}

function Selectors({ form, isFixed }: { form: ReturnType<typeof useForm<PurgeDraft>>; isFixed: boolean }) {
  const { all } = form.values
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        {!isFixed && (
          <DistributionName description={texts.cache.distributionHint} {...form.getInputProps('distribution')} />
        )}
        <TextInput label={words.domain} description={words.domainHint} {...form.getInputProps('domain')} />
      </SimpleGrid>
      <Checkbox label={words.all} {...form.getInputProps('all', { type: 'checkbox' })} />
      {!all && (
        <>
          <PagesInput label={words.paths} hint={words.pathsHint} form={form} />
          <TagsInput label={words.tags} description={words.tagsHint} {...form.getInputProps('tags')} />
        </>
      )}
      <Checkbox label={words.soft} {...form.getInputProps('soft', { type: 'checkbox' })} />
    </>
  )
}

function WouldHit({ invalidation }: { invalidation: Invalidation }) {
  return (
    <Alert color={invalidation.removed === 0 ? 'gray' : 'cyan'} role="status">
      {words.wouldHit(invalidation.removed, invalidation.request.soft)}
    </Alert>
  )
}

interface ConfirmAllProps {
  readonly draft: PurgeDraft
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

function ConfirmAll({ draft, onConfirm, onClose }: ConfirmAllProps) {
  const [count, setCount] = useState<number>()
  useState(() => void send(draft, true).then(({ removed }) => setCount(removed)))
  const where = draft.domain || draft.distribution || words.here
  return (
    <ConfirmDeletion
      title={words.confirmTitle}
      action={words.submit}
      isReady={count !== undefined}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <Text size="sm">{words.confirmText(count === undefined ? '…' : formatCount(count), where)}</Text>
    </ConfirmDeletion>
  )
}

async function send(draft: PurgeDraft, dryRun: boolean): Promise<Invalidation> {
  if (isEmpty(draft)) throw new Error(words.nothing)
  const body = { ...bodyOf(draft), ...(dryRun && { dryRun }) }
  const id = draft.distribution.trim()
  return id === ''
    ? call('createInvalidation', { body })
    : call('createDistributionInvalidation', { params: { id }, body }).catch(refuseDistribution)
}

const isEmpty = ({ domain, paths, patterns, tags, all }: PurgeDraft): boolean =>
  !all && domain.trim() === '' && linesOf(paths).length === 0 && patterns.length === 0 && tags.length === 0

function bodyOf({ domain, paths, patterns, tags, all, soft }: PurgeDraft) {
  return {
    ...(domain.trim() !== '' && { domain: domain.trim() }),
    ...(all ? { all } : { paths: linesOf(paths), patterns: [...patterns], tags }),
    ...(soft && { soft }),
  }
}
