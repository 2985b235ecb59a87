/** Which changes in the bucket are told to which target. */
import { Button, Group, NativeSelect, Paper, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconPlus } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { asRead, call, callTagged } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { formErrorsOf } from '../../api/problem.ts'
import { useMay } from '../../app/signed-in.ts'
import { takeAsSaved, useForm } from '../../parts/form.ts'
import { LinkedText } from '../../parts/linked-text.tsx'
import { MoveButtons } from '../../parts/move-buttons.tsx'
import { useRights } from '../../parts/rights.ts'
import { SavedForm } from '../../parts/saved-form.tsx'
import { type Reload, StoredDocument } from '../../parts/stored-document.tsx'
import { TagsInput } from '../../parts/tags-input.tsx'
import { texts } from '../../texts/index.ts'
import { wordOf } from '../events/target-word.ts'

const words = texts.events

type Subscriptions = Answer<'getBucketEvents'>['subscriptions']
type Target = Answer<'listNotifyTargets'>['items'][number]

/** The usual ones; every other name of S3 can be typed. */
const commonEvents = ['s3:ObjectCreated:*', 's3:ObjectRemoved:*', 's3:ObjectTagging:*', 's3:LifecycleExpiration:*']

export function Events({ bucket }: { bucket: string }) {
  return (
    <StoredDocument
      queryKey={['bucket-events', bucket]}
      load={signal => callTagged('getBucketEvents', { params: { bucket }, signal })}
    >
      {({ document: { subscriptions }, etag }, reload) => (
        <Editor bucket={bucket} subscriptions={subscriptions} etag={etag} onChanged={reload} />
      )}
    </StoredDocument>
  )
}

interface EditorProps {
  readonly bucket: string
  readonly subscriptions: Subscriptions
  readonly etag: string | undefined
  readonly onChanged: Reload<Answer<'getBucketEvents'>>
}

function Editor({ bucket, subscriptions, etag, onChanged }: EditorProps) {
  const mayChange = useRights(bucket).has('s3:PutBucketNotification')
  // The page of the targets, and its buttons.
  const mayChangeTargets = [useMay('admin:ServerInfo'), useMay('admin:GetConfig'), useMay('admin:ConfigUpdate')].every(
    may => may,
  )
  const form = useForm({ initialValues: { subscriptions } })
  const queryClient = useQueryClient()
  const targets = useQuery({
    queryKey: ['notify-targets', 'of-rules'],
    queryFn: async ({ signal }) => (await call('listNotifyTargets', { signal })).items,
    retry: false,
  })
  const arns = (targets.data ?? []).map(({ arn }) => arn)
  const known = new Map(
    (targets.data ?? []).map(target => [target.arn, { ...target, refusal: refusalOf(target, mayChangeTargets) }]),
  )
  const labelOf = (arn: string) => {
    const target = known.get(arn)
    if (target === undefined) return arn
    return target.refusal === undefined ? target.id : words.inState(target.id, wordOf(target).text)
  }
  const saving = useMutation({
    mutationFn: () =>
      callTagged('putBucketEvents', {
        params: { bucket },
        body: form.getValues(),
        ...asRead(etag),
      }),
    onError: error => form.setErrors(ruleErrorsOf(error)),
    async onSuccess(saved) {
      takeAsSaved(form)
      notifications.show({ color: 'teal', message: texts.common.saved })
      // Saving has tried the targets.
      await queryClient.invalidateQueries({ queryKey: ['notify-targets'] })
      await onChanged(saved)
    },
  })
  const rules = form.values.subscriptions
  const add = () =>
    form.insertListItem('subscriptions', {
      id: '',
      arn: arns.find(arn => known.get(arn)?.refusal === undefined) ?? arns[0] ?? '',
      events: [commonEvents[0]!],
      prefix: '',
      suffix: '',
    })
  return (
    <SavedForm isOfPage form={form} saving={saving} reload={onChanged}>
      <fieldset className="plain-fieldset" disabled={!mayChange}>
        <Stack>
          <Text c="dimmed">{rules.length === 0 ? words.noRules : words.rulesHint}</Text>
          {targets.isSuccess && arns.length === 0 && (
            <Text c="dimmed">
              <LinkedText text={mayChangeTargets ? words.noTargets : words.noTargetsYet} />
            </Text>
          )}
          {rules.map(({ arn }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a new rule has no id before it is saved
            <Paper key={index} withBorder p="md">
              <SimpleGrid cols={{ base: 1, sm: 2 }}>
                <NativeSelect
                  label={words.ruleTarget}
                  data={[...new Set([arn, ...arns])].map(value => ({ value, label: labelOf(value) }))}
                  description={known.get(arn)?.refusal && <LinkedText text={known.get(arn)?.refusal ?? ''} />}
                  {...form.getInputProps(`subscriptions.${index}.arn`)}
                />
                <TagsInput
                  label={words.ruleEvents}
                  data={commonEvents}
                  {...form.getInputProps(`subscriptions.${index}.events`)}
                />
                <TextInput label={words.prefix} {...form.getInputProps(`subscriptions.${index}.prefix`)} />
                <TextInput label={words.suffix} {...form.getInputProps(`subscriptions.${index}.suffix`)} />
              </SimpleGrid>
              <Group justify="flex-end" mt="xs">
                <MoveButtons
                  nameOf={at => words.rule(at + 1)}
                  index={index}
                  count={rules.length}
                  onMove={to => form.reorderListItem('subscriptions', { from: index, to })}
                  onRemove={() => form.removeListItem('subscriptions', index)}
                />
              </Group>
            </Paper>
          ))}
          {mayChange && (!targets.isSuccess || arns.length > 0) && (
            <Group>
              <Button
                variant="default"
                leftSection={<IconPlus size={16} aria-hidden />}
                onClick={add}
                disabled={arns.length === 0}
              >
                {words.addRule}
              </Button>
            </Group>
          )}
        </Stack>
      </fieldset>
    </SavedForm>
  )
}

/** What is wrong with a rule stands at its target. */
const ruleErrorsOf = (error: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(formErrorsOf(error)).map(([path, message]) => [
      path.replace(/^rules\.(\d+)$/, 'subscriptions.$1.arn').replace(/^rules\.(\d+)\./, 'subscriptions.$1.'),
      message,
    ]),
  )

/** Why a rule for it would be refused, in words; undefined for one that is taken. */
function refusalOf({ enabled, online }: Target, mayChangeTargets: boolean): string | undefined {
  if (!enabled) return mayChangeTargets ? words.notEnabledHint : words.notEnabledForOthers
  if (!online) return mayChangeTargets ? words.offlineHint : words.offlineForOthers
  return undefined
}
