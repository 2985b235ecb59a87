/** Warm-ups: pages that are fetched into the cache before anybody asks for them, and how far that is. */
import { Button, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { formErrorsOf } from '../../api/problem.ts'
import { useForm } from '../../parts/form.ts'
import { NumberInput } from '../../parts/number-input.tsx'
import { TagsInput } from '../../parts/tags-input.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { DistributionName, useDistributions } from './distribution-names.tsx'
import { linesOf } from './lines.ts'
import type { PatternDraft } from './patterns.tsx'
import { refuseDistribution } from './refuse-distribution.ts'
import { PagesInput, TaskForm } from './task-form.tsx'
import { rememberWarmup, WarmUps } from './warm-ups.tsx'

const words = cacheTexts.cacheWarmup

interface WarmUpDraft {
  readonly distribution: string
  /** One a line. */
  readonly paths: string
  readonly patterns: readonly PatternDraft[]
  readonly sitemap: string
  readonly domains: string[]
  readonly maxObjects: number | ''
  readonly concurrency: number | ''
}

const empty = { paths: '', patterns: [], sitemap: '', domains: [], maxObjects: '', concurrency: '' } as const

/** `distribution`: the only one whose pages are fetched; absent: one chooses. */
export function WarmUp({ distribution }: { distribution?: string }) {
  const form = useForm<WarmUpDraft>({
    initialValues: { ...empty, patterns: [], domains: [], distribution: distribution ?? '' },
  })
  const queryClient = useQueryClient()
  const starting = useMutation({
    mutationFn: () =>
      call('createWarmup', { params: { id: form.values.distribution.trim() }, body: bodyOf(form.values) }).catch(
        refuseDistribution,
      ),
    onMutate: form.clearErrors,
    onError: error => form.setErrors(formErrorsOf(error)),
    async onSuccess(warmup) {
      notifications.show({ color: 'teal', message: words.started(warmup.id) })
      await rememberWarmup(queryClient, warmup)
    },
  })
  const start = ({ paths, patterns, sitemap }: WarmUpDraft) => {
    if (linesOf(paths).length > 0 || patterns.length > 0 || sitemap.trim() !== '') return starting.mutate()
    return form.setFieldError('paths', words.nothing)
  }
  return (
    <Stack gap="xl">
      <TaskForm
        hint={words.hint}
        onSubmit={form.onSubmit(start)}
        error={starting.error}
        isSending={starting.isPending}
        setErrors={form.setErrors}
        actions={
          <Button type="submit" loading={starting.isPending}>
            {words.submit}
          </Button>
        }
      >
        <Targets form={form} isFixed={distribution !== undefined} />
        <Limits form={form} />
      </TaskForm>
      <WarmUps {...(distribution !== undefined && { distribution })} />
    </Stack>
  )
}

interface PartProps {
  readonly form: ReturnType<typeof useForm<WarmUpDraft>>
}

function Targets({ form, isFixed }: PartProps & { isFixed: boolean }) {
  const chosen = useDistributions().find(({ id }) => id === form.values.distribution.trim())
  const aliases = chosen?.aliases.filter(alias => !alias.startsWith('*.')) ?? []
  return (
    <>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        {!isFixed && (
          <DistributionName
            isCached
            description={words.distributionHint}
            required
            withAsterisk={false}
            {...form.getInputProps('distribution')}
          />
        )}
        <TagsInput
          label={words.domains}
          description={words.domainsHint}
          data={aliases}
          {...form.getInputProps('domains')}
        />
      </SimpleGrid>
      <PagesInput label={words.paths} hint={words.pathsHint} types={['prefix', 'glob']} form={form} />
      <TextInput label={words.sitemap} description={words.sitemapHint} {...form.getInputProps('sitemap')} />
    </>
  )
}

function Limits({ form }: PartProps) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }}>
      <NumberInput
        label={words.max}
        description={words.maxHint}
        allowDecimal={false}
        allowNegative={false}
        {...form.getInputProps('maxObjects')}
      />
      <NumberInput
        label={words.concurrency}
        description={words.concurrencyHint}
        allowDecimal={false}
        allowNegative={false}
        {...form.getInputProps('concurrency')}
      />
    </SimpleGrid>
  )
}

function bodyOf({ paths, patterns, sitemap, domains, maxObjects, concurrency }: WarmUpDraft) {
  const lines = linesOf(paths)
  return {
    ...(lines.length > 0 && { paths: lines }),
    ...(patterns.length > 0 && { patterns: patterns.map(({ type, pattern }) => ({ type, pattern })) as TwoKinds }),
    ...(sitemap.trim() !== '' && { sitemap: sitemap.trim() }),
    ...(domains.length > 0 && { domains }),
    ...(maxObjects !== '' && { maxObjects }),
    ...(concurrency !== '' && { concurrency }),
  }
}

/** The form offers no other. */
type TwoKinds = { type: 'prefix' | 'glob'; pattern: string }[]
