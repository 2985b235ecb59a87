/** What is deleted by itself, and when: in words, and as JSON to change it. */
import { Alert, Button, Group, List, Paper, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call, callTagged } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Conflict } from '../../parts/conflict.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatDate } from '../../parts/format.ts'
import { JsonEditor } from '../../parts/json-editor.tsx'
import { useRights } from '../../parts/rights.ts'
import { StoredDocument } from '../../parts/stored-document.tsx'
import { texts } from '../../texts/index.ts'

type Rules = Answer<'getBucketLifecycle'>['rules']
type Rule = Rules[number]

const words = texts.bucket.ruleWords
const template = [{ id: 'old-uploads', enabled: true, abortIncompleteUpload: { daysAfterInitiation: 7 } }]

export function Lifecycle({ bucket }: { bucket: string }) {
  return (
    <StoredDocument
      queryKey={['bucket-lifecycle', bucket]}
      load={signal => callTagged('getBucketLifecycle', { params: { bucket }, signal })}
    >
      {({ document: { rules }, etag }, reload) => (
        <Editor bucket={bucket} rules={rules} etag={etag} onChanged={reload} />
      )}
    </StoredDocument>
  )
}

interface EditorProps {
  readonly bucket: string
  readonly rules: Rules
  readonly etag: string | undefined
  readonly onChanged: () => Promise<void>
}

function Editor({ bucket, rules, etag, onChanged }: EditorProps) {
  const [text, setText] = useState(() => JSON.stringify(rules.length === 0 ? template : rules, undefined, 2))
  const saving = useMutation({
    mutationFn: () =>
      call('putBucketLifecycle', {
        params: { bucket },
        body: { rules: JSON.parse(text) },
        ...(etag !== undefined && { ifMatch: etag }),
      }),
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
      {rules.length > 0 && <Preview bucket={bucket} />}
      <Conflict error={saving.error} onLoad={onChanged} />
      <JsonEditor label={texts.bucket.tabs.lifecycle} value={text} onChange={setText} />
      <Group>
        <Button onClick={() => saving.mutate()} loading={saving.isPending}>
          {texts.common.save}
        </Button>
      </Group>
    </Stack>
  )
}

/** Shows what the stored rules would delete now. */
function Preview({ bucket }: { bucket: string }) {
  const preview = useMutation({
    mutationFn: () => call('runBucketLifecycle', { params: { bucket }, body: { dryRun: true } }),
  })
  if (!useRights(bucket).has('s3:PutLifecycleConfiguration')) return null
  return (
    <Stack gap="xs" align="flex-start">
      <Button variant="default" loading={preview.isPending} onClick={() => preview.mutate()}>
        {words.preview}
      </Button>
      {preview.error !== null && <ProblemAlert error={preview.error} />}
      {preview.data !== undefined && (
        <Alert color={preview.data.deleted > 0 ? 'orange' : 'gray'} role="status">
          <List size="sm">
            {words.wouldDo(preview.data).map(effect => (
              <List.Item key={effect}>{effect}</List.Item>
            ))}
          </List>
        </Alert>
      )}
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
