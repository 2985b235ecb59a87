/** A lifecycle rule as a form: which objects, and what happens to them after how many days. */
import { Checkbox, Fieldset, SimpleGrid, Switch, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { formErrorsOf, problemAt } from '../../api/problem.ts'
import { BytesInput } from '../../parts/bytes-input.tsx'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { NumberInput } from '../../parts/number-input.tsx'
import { conditionsOf, type Pair, pairsOf } from '../../parts/pairs.ts'
import { PairsInput } from '../../parts/pairs-input.tsx'
import { texts } from '../../texts/index.ts'
import { lifecycleTexts } from '../../texts/lifecycle.ts'
import { bucketQuery } from '../objects/queries.ts'
import type { LifecycleRule } from './lifecycle.tsx'
import { LifecyclePreview } from './lifecycle-preview.tsx'
import { deletedObjects } from './lifecycle-words.ts'

const words = lifecycleTexts

export interface EditLifecycleRuleProps {
  readonly bucket: string
  /** Absent for a new one. */
  readonly rule?: LifecycleRule
  /** Index that the rule has, or gets, among the rules: errors of the server name it. */
  readonly place: number
  /** Resolves with `declined` if it was not saved after all. */
  readonly onSave: (rule: LifecycleRule) => Promise<'declined' | undefined>
  /** Told when it is saved. */
  readonly onChanged: () => Promise<boolean>
  readonly onClose: () => void
}

/** An empty number is not set. */
type Numeric = number | ''

interface Values {
  id: string
  enabled: boolean
  prefix: string
  tags: readonly Pair[]
  /** Bytes. Larger than 0 is a limit of its own: it leaves empty objects out. */
  sizeGreaterThan: Numeric
  sizeLessThan: Numeric
  expireDays: Numeric
  expireDate: string
  expiredObjectDeleteMarker: boolean
  noncurrentDays: Numeric
  newerNoncurrentVersions: Numeric
  uploadDays: Numeric
}

function valuesOf(rule: LifecycleRule | undefined): Values {
  const { filter = {}, expiration, noncurrentExpiration, abortIncompleteUpload } = rule ?? {}
  return {
    id: rule?.id ?? '',
    enabled: rule?.enabled ?? true,
    prefix: filter.prefix ?? '',
    tags: pairsOf(filter.tags),
    sizeGreaterThan: filter.sizeGreaterThan ?? '',
    sizeLessThan: filter.sizeLessThan ?? '',
    expireDays: expiration?.days ?? '',
    expireDate: expiration?.date?.slice(0, 10) ?? '',
    expiredObjectDeleteMarker: expiration?.expiredObjectDeleteMarker ?? false,
    noncurrentDays: noncurrentExpiration?.noncurrentDays ?? '',
    newerNoncurrentVersions: noncurrentExpiration?.newerNoncurrentVersions ?? '',
    uploadDays: abortIncompleteUpload?.daysAfterInitiation ?? '',
  }
}

/** Throws what no rule can say. */
function ruleOf(values: Values): LifecycleRule {
  const { id, enabled, prefix, sizeGreaterThan, sizeLessThan, expireDays, expireDate, uploadDays } = values
  const { expiredObjectDeleteMarker, noncurrentDays, newerNoncurrentVersions } = values
  // A number to keep belongs to the days after which the others go: it would be lost.
  if (newerNoncurrentVersions !== '' && noncurrentDays === '') throw problemAt('/noncurrentDays', texts.common.missing)
  const tags = conditionsOf(values.tags, '/filter/tags')
  const filter = {
    ...(prefix !== '' && { prefix }),
    ...(Object.keys(tags).length > 0 && { tags }),
    ...(sizeGreaterThan !== '' && { sizeGreaterThan }),
    ...(sizeLessThan !== '' && { sizeLessThan }),
  }
  const expiration = {
    ...(expireDays !== '' && { days: expireDays }),
    // Rules begin with a day of UTC.
    ...(expireDate !== '' && { date: `${expireDate}T00:00:00Z` }),
    ...(expiredObjectDeleteMarker && { expiredObjectDeleteMarker }),
  }
  return {
    ...(id.trim() !== '' && { id: id.trim() }),
    enabled,
    filter,
    ...(Object.keys(expiration).length > 0 && { expiration }),
    ...(noncurrentDays !== '' && {
      noncurrentExpiration: {
        noncurrentDays,
        ...(newerNoncurrentVersions !== '' && { newerNoncurrentVersions }),
      },
    }),
    ...(uploadDays !== '' && { abortIncompleteUpload: { daysAfterInitiation: uploadDays } }),
  }
}

export function EditLifecycleRule({ bucket, rule, place, onSave, onChanged, onClose }: EditLifecycleRuleProps) {
  const { data: about } = useQuery(bucketQuery(bucket))
  const form = useForm<Values>({
    initialValues: valuesOf(rule),
    related,
    // That a rule needs an action is said at the first of them, and mended by any.
    onValuesChange(now, before) {
      if (now.expireDays === '' && actions.some(name => now[name] !== before[name])) form.clearFieldError('expireDays')
    },
  })
  const save = async () => {
    const outcome = await onSave(ruleOf(form.getValues()))
    if (outcome !== 'declined') await onChanged()
    return outcome
  }
  /** Rules have no identity: which of them was edited is not known any more. */
  const reload = async () => {
    const isRead = await onChanged()
    if (isRead) onClose()
    return isRead
  }
  return (
    <FormDialog
      title={rule === undefined ? words.add : words.edit(rule.id ?? '')}
      submit={texts.common.save}
      size="lg"
      form={{ setErrors: errors => form.setErrors(atFields(errors, place)), isDirty: () => form.isDirty() }}
      onSubmit={save}
      onConflict={reload}
      onClose={onClose}
    >
      <TextInput label={words.id} description={words.idHint} data-autofocus {...form.getInputProps('id')} />
      <Fieldset legend={words.which}>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextInput label={words.prefix} description={words.prefixHint} {...form.getInputProps('prefix')} />
          <PairsInput
            of={texts.bucket.tag}
            label={texts.bucket.tags}
            value={form.values.tags}
            errors={form.errors}
            path="filter.tags"
            onChange={tags => {
              form.setFieldValue('tags', tags)
              form.clearFieldError('filter.tags')
            }}
          />
          <BytesInput
            label={words.sizeGreaterThan}
            none=""
            usualUnit="MiB"
            value={form.values.sizeGreaterThan}
            {...form.getInputProps('sizeGreaterThan')}
          />
          <BytesInput
            label={words.sizeLessThan}
            none=""
            usualUnit="MiB"
            value={form.values.sizeLessThan}
            {...form.getInputProps('sizeLessThan')}
          />
        </SimpleGrid>
      </Fieldset>
      <Fieldset legend={words.what}>
        {/* Labels of one and of two lines. */}
        <SimpleGrid cols={{ base: 1, sm: 2 }} style={{ alignItems: 'end' }}>
          <DaysInput label={words.expireDays} {...form.getInputProps('expireDays')} />
          <TextInput type="date" label={words.expireDate} {...form.getInputProps('expireDate')} />
          <DaysInput label={words.noncurrentDays} {...form.getInputProps('noncurrentDays')} />
          <DaysInput
            label={words.newerNoncurrentVersions}
            placeholder="0"
            {...form.getInputProps('newerNoncurrentVersions')}
          />
          <DaysInput label={words.uploadDays} {...form.getInputProps('uploadDays')} />
        </SimpleGrid>
        {about !== undefined && (
          <Text mt="sm" size="xs" c="dimmed">
            {deletedObjects(about.versioning)}
          </Text>
        )}
        <Checkbox
          mt="sm"
          label={words.expiredObjectDeleteMarker}
          {...form.getInputProps('expiredObjectDeleteMarker', { type: 'checkbox' })}
        />
      </Fieldset>
      <Switch label={words.enabled} {...form.getInputProps('enabled', { type: 'checkbox' })} />
      {/* Of what is typed now; one that is disabled is looked at before it is enabled. */}
      <LifecyclePreview
        key={JSON.stringify(form.values)}
        bucket={bucket}
        label={words.previewDraft}
        rulesOf={() => [{ ...ruleOf(form.values), enabled: true }]}
        isDraft
        onRefused={error => form.setErrors(atFields(formErrorsOf(error), 0))}
      />
    </FormDialog>
  )
}

const DaysInput = (props: { readonly label: string; readonly placeholder?: string }) => (
  <NumberInput min={1} allowDecimal={false} placeholder={words.notSet} {...props} />
)

const related = [
  ['expireDays', 'expireDate'],
  ['sizeGreaterThan', 'sizeLessThan'],
  ['noncurrentDays', 'newerNoncurrentVersions'],
  // What tells objects apart does not tell uploads and delete markers.
  ['uploadDays', 'sizeGreaterThan', 'sizeLessThan', 'tags'],
  ['expiredObjectDeleteMarker', 'expireDays', 'expireDate', 'tags'],
]

const actions = ['expireDate', 'expiredObjectDeleteMarker', 'noncurrentDays', 'uploadDays'] as const

const names: Readonly<Record<string, keyof Values>> = {
  'filter.prefix': 'prefix',
  'filter.sizeGreaterThan': 'sizeGreaterThan',
  'filter.sizeLessThan': 'sizeLessThan',
  // The first of the actions, where there is none.
  expiration: 'expireDays',
  'expiration.days': 'expireDays',
  'expiration.date': 'expireDate',
  'expiration.expiredObjectDeleteMarker': 'expiredObjectDeleteMarker',
  'noncurrentExpiration.noncurrentDays': 'noncurrentDays',
  'noncurrentExpiration.newerNoncurrentVersions': 'newerNoncurrentVersions',
  'abortIncompleteUpload.daysAfterInitiation': 'uploadDays',
}

/** The server speaks of all rules, stored or of a draft; the form is one of them. */
function atFields(errors: Record<string, string>, place: number): Record<string, string> {
  const prefixes = [`rules.${place}.`, `draft.rules.${place}.`]
  return Object.fromEntries(
    Object.entries(errors).map(([path, message]) => {
      const prefix = prefixes.find(one => path.startsWith(one)) ?? ''
      const within = path.slice(prefix.length)
      return [names[within] ?? within, message]
    }),
  )
}
