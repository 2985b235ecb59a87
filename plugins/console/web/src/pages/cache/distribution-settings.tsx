/** The cache of one distribution: its own level, those of its domains and behaviours, and the caches in front of it. */
import { NativeSelect, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { asRead, callTagged } from '../../api/client.ts'
import { errorWithin } from '../../api/problem.ts'
import { choicesOf } from '../../parts/choices.ts'
import { useForm } from '../../parts/form.ts'
import { sameKey } from '../../parts/same-key.ts'
import { SavedForm, useSaving } from '../../parts/saved-form.tsx'
import { type Reload, StoredDocument } from '../../parts/stored-document.tsx'
import { Suggestions } from '../../parts/suggestions.tsx'
import { TagsInput } from '../../parts/tags-input.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'
import { type DistributionCache, type DistributionDraft, documentOf, draftOf, newLevel } from './distribution-draft.ts'
import { type ListedDistribution, useDistributions } from './distribution-names.tsx'
import { EffectiveAt } from './effective-at.tsx'
import { relatedFields } from './fields.ts'
import { LevelFields } from './level-fields.tsx'
import { Levels } from './levels.tsx'
import { Webhooks } from './webhooks.tsx'

const words = cacheTexts.cacheSettings

interface OneDistribution {
  readonly id: string
  /** Absent: that of the list, for whoever may see it. */
  readonly mode?: string
}

export function DistributionSettings({ id, mode }: OneDistribution) {
  const load = (signal: AbortSignal) => callTagged('getDistributionCache', { params: { id }, signal })
  return (
    <StoredDocument queryKey={['distribution-cache', id]} load={load}>
      {({ document, etag }, reload) => <Editor id={id} mode={mode} stored={document} etag={etag} reload={reload} />}
    </StoredDocument>
  )
}

interface EditorProps {
  readonly id: string
  readonly mode: string | undefined
  readonly stored: DistributionCache
  readonly etag: string | undefined
  readonly reload: Reload<DistributionCache>
}

export type DistributionForm = ReturnType<typeof useForm<DistributionDraft>>

function Editor({ id, mode, stored, etag, reload }: EditorProps) {
  const form = useForm<DistributionDraft>({ initialValues: draftOf(stored), related: relatedFields })
  const distribution = useDistributions().find(each => each.id === id)
  // Caches in front may be told of its changes all the same.
  const isCached = (mode ?? distribution?.mode) !== 's3'
  const saving = useSaving({
    form,
    save: () => {
      const body = documentOf(form.getValues())
      return callTagged('putDistributionCache', { params: { id }, body, ...asRead(etag) })
    },
    message: words.saved,
    stale: [
      ['cache-effective', id],
      ['cache-webhooks', id],
    ],
    reload,
  })
  return (
    <Stack gap="xl">
      <SavedForm isOfPage form={form} saving={saving} gap="xl" reload={reload}>
        {isCached ? (
          <>
            <Stack>
              <Title order={2} size="h4">
                {words.level}
              </Title>
              <LevelFields
                form={form}
                path="cache"
                level={form.values.cache}
                hasQuota
                webhooks={form.values.webhooks.map(each => each.id)}
              />
              <TagsInput
                label={words.warmOnWrite}
                description={words.warmOnWriteHint}
                value={form.values.warmOnWrite}
                error={errorWithin(form.errors, 'warmOnWrite')}
                onChange={globs => form.setFieldValue('warmOnWrite', [...globs])}
              />
            </Stack>
            <Domains form={form} distribution={distribution} />
            <Behaviors form={form} distribution={distribution} />
          </>
        ) : (
          <Text>{texts.cache.noneInS3}</Text>
        )}
        <Webhooks
          id={id}
          form={form}
          stored={stored.webhooks.map(each => each.id)}
          aliases={distribution?.aliases ?? []}
        />
      </SavedForm>
      {isCached && <EffectiveAt id={id} domains={distribution?.aliases ?? []} />}
    </Stack>
  )
}

interface PartProps {
  readonly form: DistributionForm
  /** Undefined for whoever may not see it. */
  readonly distribution: ListedDistribution | undefined
}

function Domains({ form, distribution }: PartProps) {
  return (
    <Levels
      form={form}
      list="domains"
      title={words.domains}
      add={words.addDomain}
      name={words.domain}
      initial={() => ({ host: '', cache: newLevel() })}
    >
      {path => (
        <Suggestions
          label={words.domainName}
          data={[...(distribution?.aliases ?? [])]}
          required
          {...form.getInputProps(`${path}.host`)}
        />
      )}
    </Levels>
  )
}

function Behaviors({ form, distribution }: PartProps) {
  const patterns = distribution?.behaviors.map(({ pathPattern }) => pathPattern) ?? []
  const choose = (path: string, pattern: string) => {
    form.setFieldValue(`${path}.pathPattern.pattern`, pattern)
    const known = patterns.find(each => sameKey(each.pattern) === sameKey(pattern))
    // What is typed keeps its form of Unicode: to the server another may name something else.
    if (known !== undefined) form.setFieldValue(`${path}.pathPattern`, { ...known, pattern })
  }
  return (
    <Levels
      form={form}
      list="behaviors"
      title={words.behaviors}
      add={words.addBehavior}
      name={words.behavior}
      initial={() => ({ pathPattern: { type: 'prefix', pattern: '' }, cache: newLevel() })}
    >
      {path => (
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <Suggestions
            label={words.behaviorPath}
            required
            data={[...new Set(patterns.map(({ pattern }) => pattern))]}
            {...form.getInputProps(`${path}.pathPattern.pattern`)}
            error={errorWithin(form.errors, `${path}.pathPattern`)}
            onChange={pattern => choose(path, pattern)}
          />
          <NativeSelect
            label={words.fitsAs}
            data={choicesOf(texts.distributions.patternTypes)}
            {...form.getInputProps(`${path}.pathPattern.type`)}
          />
        </SimpleGrid>
      )}
    </Levels>
  )
}
