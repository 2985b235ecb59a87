/** What is deleted by itself, and when: in words, and as JSON to change it. */
import { Button, Group, List, Paper, Skeleton, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatDate } from '../../parts/format.ts'
import { JsonEditor } from '../../parts/json-editor.tsx'
import { texts } from '../../texts/index.ts'

type Rules = Answer<'getBucketLifecycle'>['rules']
type Rule = Rules[number]

const words = texts.bucket.ruleWords
const template = [{ id: 'old-uploads', enabled: true, abortIncompleteUpload: { daysAfterInitiation: 7 } }]

export function Lifecycle({ bucket }: { bucket: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['bucket-lifecycle', bucket],
    queryFn: ({ signal }) => call('getBucketLifecycle', { params: { bucket }, signal }),
  })
  if (error !== null) return <ProblemAlert error={error} onRetry={() => refetch()} />
  if (data === undefined) return <Skeleton h={240} />
  const refresh = async () => void (await refetch())
  return <Editor key={JSON.stringify(data.rules)} bucket={bucket} rules={data.rules} onChanged={refresh} />
}

interface EditorProps {
  readonly bucket: string
  readonly rules: Rules
  readonly onChanged: () => Promise<void>
}

function Editor({ bucket, rules, onChanged }: EditorProps) {
  const [text, setText] = useState(() => JSON.stringify(rules.length === 0 ? template : rules, undefined, 2))
  const saving = useMutation({
    mutationFn: () => call('putBucketLifecycle', { params: { bucket }, body: { rules: JSON.parse(text) } }),
    async onSuccess() {
      notifications.show({ color: 'teal', message: texts.common.saved })
      await onChanged()
    },
  })
  return (
    <Stack>
      {rules.length === 0 && <Text c="dimmed">{texts.bucket.noLifecycle}</Text>}
      {rules.map((rule, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rules have an order, and need no id
        <RuleInWords key={index} rule={rule} />
      ))}
      {saving.error !== null && <ProblemAlert error={saving.error} />}
      <JsonEditor label={texts.bucket.tabs.lifecycle} value={text} onChange={setText} />
      <Group>
        <Button onClick={() => saving.mutate()} loading={saving.isPending}>
          {texts.common.save}
        </Button>
      </Group>
    </Stack>
  )
}

function RuleInWords({ rule }: { rule: Rule }) {
  const { id = '', enabled, filter, expiration, noncurrentExpiration, abortIncompleteUpload } = rule
  const effects = [
    expiration?.days !== undefined && words.expires(expiration.days),
    expiration?.date !== undefined && words.expiresOn(formatDate(expiration.date)),
    noncurrentExpiration !== undefined && words.noncurrent(noncurrentExpiration.noncurrentDays),
    abortIncompleteUpload !== undefined && words.uploads(abortIncompleteUpload.daysAfterInitiation),
  ].filter(effect => effect !== false)
  return (
    <Paper withBorder p="md">
      <Text fw={600}>
        {texts.bucket.rule(id)} {!enabled && words.disabled}
      </Text>
      <Text size="sm">
        {filter?.prefix === undefined || filter.prefix === '' ? words.all : words.prefix(filter.prefix)}
      </Text>
      <List size="sm">
        {effects.map(effect => (
          <List.Item key={effect}>{effect}</List.Item>
        ))}
      </List>
    </Paper>
  )
}
