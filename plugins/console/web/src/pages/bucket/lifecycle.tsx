/** What is deleted by itself, and when: each rule in words, with a form; all of them as JSON too. */
import { Accordion, Button, Group, List, Paper, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconPencil, IconPlus, IconTrash } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useRef, useState } from 'react'
import { asRead, callTagged, type Tagged } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Problem } from '../../api/problem.ts'
import { type AskedFirst, useAskFirst } from '../../parts/ask-first.tsx'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { useRights } from '../../parts/rights.ts'
import { type Reload, StoredDocument } from '../../parts/stored-document.tsx'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'
import { lifecycleTexts } from '../../texts/lifecycle.ts'
import { bucketQuery } from '../objects/queries.ts'
import { EditLifecycleRule } from './edit-lifecycle-rule.tsx'
import { LifecyclePreview } from './lifecycle-preview.tsx'
import {
  deletedObjects,
  deletingRules,
  isUnnamed,
  type LifecycleRule,
  type LifecycleRules,
  lifecycleEffects,
  lifecycleScope,
} from './lifecycle-words.ts'

const LifecycleJson = lazy(async () => ({ default: (await import('./lifecycle-json.tsx')).LifecycleJson }))

export type { LifecycleRule, LifecycleRules }

type Versioning = Answer<'getBucket'>['versioning']

const words = lifecycleTexts

export function Lifecycle({ bucket }: { bucket: string }) {
  return (
    <StoredDocument
      queryKey={['bucket-lifecycle', bucket]}
      load={signal => callTagged('getBucketLifecycle', { params: { bucket }, signal })}
    >
      {({ document: { rules }, etag }, reload) => (
        <Rules bucket={bucket} rules={rules} etag={etag} onChanged={reload} />
      )}
    </StoredDocument>
  )
}

interface RulesProps {
  readonly bucket: string
  readonly rules: LifecycleRules
  readonly etag: string | undefined
  readonly onChanged: Reload<Document>
}

type Document = Answer<'getBucketLifecycle'>
type Open = { readonly dialog: 'add' } | { readonly dialog: 'edit' | 'remove'; readonly index: number }

function Rules({ bucket, rules, etag, onChanged }: RulesProps) {
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const mayChange = useRights(bucket).has('s3:PutLifecycleConfiguration')
  /** As JSON: all rules are drawn anew with the next change of one. */
  const [isTyped, setTyped] = useState(false)
  const mayChangeOne = mayChange && !isTyped
  const queryClient = useQueryClient()
  const { data: about } = useQuery(bucketQuery(bucket))
  const { ask, question } = useAskFirst()
  const saved = useRef<Tagged<Document>>(undefined)
  const changed = () => onChanged(saved.current)
  /** All rules at once, and only if they are still those that are shown. */
  const save = async (next: LifecycleRules): Promise<'declined' | undefined> => {
    const deleting = deletingRules(next, rules)
    const request = { params: { bucket }, body: { rules: next }, ...asRead(etag) }
    const put = (given: typeof request & { readonly query?: { readonly dryRun: true } }) =>
      callTagged('putBucketLifecycle', given).catch(error => {
        throw withRuleNames(error, next, rules)
      })
    if (deleting.length > 0) {
      // Nobody is asked about what is refused.
      await put({ ...request, query: { dryRun: true } })
      // What is said about versions has to be true now.
      const about = queryClient.fetchQuery({ ...bucketQuery(bucket), staleTime: 0 })
      const { versioning } = await about.catch(() => unknown)
      if (!(await ask(deletionQuestion(deleting, versioning)))) return 'declined'
    }
    saved.current = await put(request)
    notifications.show({ color: 'teal', message: texts.common.saved })
    return undefined
  }
  return (
    <Stack>
      <Group justify="space-between">
        <Text c="dimmed">{isTyped ? words.typedAsJson : rules.length === 0 ? words.none : words.hint}</Text>
        {mayChangeOne && (
          <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setOpen({ dialog: 'add' })}>
            {words.add}
          </Button>
        )}
      </Group>
      {rules.map((rule, index) => (
        <RuleInWords
          // biome-ignore lint/suspicious/noArrayIndexKey: rules have an order, and need no id
          key={index}
          rule={rule}
          isKept={about?.versioning === 'enabled'}
          {...(mayChangeOne && {
            onEdit: () => setOpen({ dialog: 'edit', index }),
            onRemove: () => setOpen({ dialog: 'remove', index }),
          })}
        />
      ))}
      {mayChangeOne && rules.length > 0 && (
        <LifecyclePreview bucket={bucket} label={words.preview} rulesOf={() => rules} />
      )}
      {mayChange && (
        <Accordion variant="contained">
          <Accordion.Item value="json">
            <Accordion.Control>{words.json}</Accordion.Control>
            <Accordion.Panel>
              <Suspense>
                <LifecycleJson
                  bucket={bucket}
                  label={words.json}
                  rules={rules}
                  onSave={save}
                  onTyped={setTyped}
                  onChanged={changed}
                />
              </Suspense>
            </Accordion.Panel>
          </Accordion.Item>
        </Accordion>
      )}
      {open?.dialog === 'add' && (
        <EditLifecycleRule
          bucket={bucket}
          place={rules.length}
          onSave={rule => save([...rules, rule])}
          onChanged={changed}
          onClose={close}
        />
      )}
      {open?.dialog === 'edit' && (
        <EditLifecycleRule
          bucket={bucket}
          rule={rules[open.index]!}
          place={open.index}
          onSave={rule => save(rules.with(open.index, rule))}
          onChanged={changed}
          onClose={close}
        />
      )}
      {open?.dialog === 'remove' && (
        <ConfirmDeletion
          title={words.removeTitle(rules[open.index]!.id ?? '')}
          action={texts.common.remove}
          onConfirm={() => save(rules.toSpliced(open.index, 1))}
          onDone={changed}
          onClose={close}
        >
          <Text size="sm">{words.removeText}</Text>
        </ConfirmDeletion>
      )}
      {question}
    </Stack>
  )
}

/** A rule that stays as it is has no field in the form: what the server refuses of it is said with its name. */
function withRuleNames(error: unknown, next: LifecycleRules, rules: LifecycleRules): unknown {
  if (!(error instanceof Problem)) return error
  const fields = error.fields.map(({ field, message }) => {
    const rule = next[Number(/^\/rules\/(\d+)(?:\/|$)/.exec(field)?.[1])]
    return rule !== undefined && rules.includes(rule)
      ? { field: '', message: words.ofRule(rule.id ?? words.unnamed, message) }
      : { field, message }
  })
  if (fields.every(({ field }, index) => field === error.fields[index]!.field)) return error
  const { status, code, isOfServer, requestId } = error
  const detail = fields.map(({ message }) => message).join(' ')
  return new Problem({ status, code, isOfServer, requestId, fields, detail })
}

interface RuleInWordsProps {
  readonly rule: LifecycleRule
  /** The bucket keeps old versions. */
  readonly isKept: boolean
  /** Absent where it may not be changed. */
  readonly onEdit?: () => void
  readonly onRemove?: () => void
}

function RuleInWords({ rule, isKept, onEdit, onRemove }: RuleInWordsProps) {
  const { id = '', enabled } = rule
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div>
          <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
            {isUnnamed(rule) ? words.unnamed : words.rule(id)} {!enabled && words.disabled}
          </Text>
          <RuleWords rule={rule} isKept={isKept} />
        </div>
        {onEdit !== undefined && onRemove !== undefined && (
          <Group gap={2} wrap="nowrap">
            <Tool label={words.edit(id)} icon={IconPencil} onClick={onEdit} />
            <Tool label={words.remove(id)} icon={IconTrash} onClick={onRemove} />
          </Group>
        )}
      </Group>
    </Paper>
  )
}

/** Which objects, and what happens to them. */
function RuleWords({ rule, isKept = false }: { readonly rule: LifecycleRule; readonly isKept?: boolean }) {
  return (
    <>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {lifecycleScope(rule)}
      </Text>
      <List size="sm">
        {lifecycleEffects(rule, isKept).map(effect => (
          <List.Item key={effect}>{effect}</List.Item>
        ))}
      </List>
    </>
  )
}

const unknown = { versioning: undefined }

const deletionQuestion = (rules: LifecycleRules, versioning: Versioning): AskedFirst => ({
  title: words.deletionTitle(rules.length),
  action: words.deletionConfirm(rules.length),
  text: (
    <Stack gap="xs">
      {rules.map(rule => (
        <div key={`${rule.id} ${JSON.stringify(rule)}`}>
          <RuleWords rule={rule} />
        </div>
      ))}
      {rules.some(({ expiration }) => expiration?.days !== undefined || expiration?.date !== undefined) && (
        <Text size="sm">{deletedObjects(versioning)}</Text>
      )}
      {rules.some(({ noncurrentExpiration }) => noncurrentExpiration !== undefined) && (
        <Text size="sm">{words.versionsDeleted}</Text>
      )}
    </Stack>
  ),
})
