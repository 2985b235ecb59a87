/** What one level says: on or off, which policy, and single fields. */
import { NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { Suggestions } from '../../parts/suggestions.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'
import type { LevelDraft } from './fields.ts'
import { documentOf, draftOf } from './fields.ts'
import { InheritableNames } from './inheritable-names.tsx'
import { type FieldsForm, PolicyFields } from './policy-fields.tsx'

const words = cacheTexts.cacheSettings

export type Level = LevelDraft & {
  readonly enabled: string
  readonly policy: string
  readonly autoInvalidate: string
  /** The quota; only distributions and domains have one. */
  readonly quota: string
  /** Within a distribution; null: inherited. */
  readonly purgeWebhooks: string[] | null
}

interface LevelDocument {
  readonly enabled?: boolean
  readonly policy?: string
  readonly autoInvalidate?: boolean
  readonly quota?: string | number
  readonly purgeWebhooks?: string[]
}

export const levelDraftOf = (level: LevelDocument): Level => ({
  ...draftOf(level),
  enabled: String(level.enabled ?? ''),
  policy: level.policy ?? '',
  autoInvalidate: String(level.autoInvalidate ?? ''),
  quota: String(level.quota ?? ''),
  purgeWebhooks: level.purgeWebhooks ?? null,
})

export const levelOf = ({
  enabled,
  policy,
  autoInvalidate,
  quota,
  purgeWebhooks,
  ...fields
}: Level): LevelDocument => ({
  ...documentOf(fields),
  ...(enabled !== '' && { enabled: enabled === 'true' }),
  ...(policy.trim() !== '' && { policy: policy.trim() }),
  ...(autoInvalidate !== '' && { autoInvalidate: autoInvalidate === 'true' }),
  ...(quota.trim() !== '' && { quota: quota.trim() }),
  ...(purgeWebhooks !== null && { purgeWebhooks }),
})

const statesOf = (isTop: boolean) =>
  (['', 'true', 'false'] as const).map(value => ({
    value,
    label: value === '' && isTop ? words.defaultOn : words.states[value],
  }))

export interface LevelFieldsProps {
  readonly form: FieldsForm
  readonly path: string
  readonly level: Level
  /** Set for the level of the whole cluster, which has no level above. */
  readonly isTop?: boolean
  readonly hasQuota?: boolean
  /** Webhooks of the distribution that can be chosen; undefined if this level does not choose. */
  readonly webhooks?: readonly string[]
}

export function LevelFields({ form, path, level, isTop = false, hasQuota = false, webhooks }: LevelFieldsProps) {
  const { data: policies = [] } = useQuery({
    queryKey: ['names', 'cache-policies'],
    queryFn: async ({ signal }) => (await call('listCachePolicies', { signal })).items.map(({ name }) => name),
  })
  const states = statesOf(isTop)
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <NativeSelect label={words.enabled} data={states} {...form.getInputProps(`${path}.enabled`)} />
        <Suggestions
          label={words.policy}
          placeholder={isTop ? texts.cache.levels.default : texts.cache.inherited}
          data={policies}
          {...form.getInputProps(`${path}.policy`)}
        />
        <NativeSelect label={words.autoInvalidate} data={states} {...form.getInputProps(`${path}.autoInvalidate`)} />
      </SimpleGrid>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        {hasQuota && (
          <TextInput
            label={words.quota}
            description={texts.cache.sizeHint}
            placeholder={words.noQuota}
            {...form.getInputProps(`${path}.quota`)}
          />
        )}
        {webhooks !== undefined && (
          <InheritableNames
            label={words.toldWebhooks}
            placeholder={words.allWebhooks}
            noneLabel={words.noWebhook}
            data={webhooks}
            value={level.purgeWebhooks}
            error={form.getInputProps(`${path}.purgeWebhooks`).error}
            onChange={next => form.setFieldValue(`${path}.purgeWebhooks`, next)}
          />
        )}
      </SimpleGrid>
      <Text size="sm" c="dimmed">
        {words.single}
      </Text>
      <PolicyFields form={form} path={path} draft={level} />
    </Stack>
  )
}
