/** Who gets into a bucket beside its policies: blocks of public access, presets, rules, and what they say of a request. */
import { Alert, Button, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconAlertTriangle, IconFlask, IconPlus } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { call, type Tagged } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { useRights } from '../../parts/rights.ts'
import { type Reload, StoredDocument } from '../../parts/stored-document.tsx'
import { Warnings } from '../../parts/warnings.tsx'
import { accessRuleTexts } from '../../texts/access-rules.ts'
import { texts } from '../../texts/index.ts'
import { BlockPublic } from '../bucket/block-public.tsx'
import { Openings } from './openings.tsx'
import { Presets } from './presets.tsx'
import { RuleCard } from './rule-card.tsx'

const EditRule = lazy(async () => ({ default: (await import('./edit-rule.tsx')).EditRule }))
const TestRules = lazy(async () => ({ default: (await import('./test-rules.tsx')).TestRules }))

const words = accessRuleTexts

export type RulesDocument = Answer<'getAccessRules'>
export type Rule = RulesDocument['rules'][number]

export function Access({ bucket }: { bucket: string }) {
  const load = async (signal: AbortSignal): Promise<Tagged<RulesDocument>> => {
    const document = await call('getAccessRules', { params: { bucket }, signal })
    return { document, etag: document.etag }
  }
  const rights = useRights(bucket)
  const mayReadBlock = rights.has('s3:GetBucketPublicAccessBlock') || rights.has('admin:ManageAccessRules')
  return (
    <Stack>
      {mayReadBlock && <BlockPublic bucket={bucket} />}
      <StoredDocument queryKey={['access-rules', bucket]} load={load}>
        {({ document }, reload) => <Rules bucket={bucket} document={document} onChanged={reload} />}
      </StoredDocument>
    </Stack>
  )
}

type Open = { readonly dialog: 'test' | 'add' } | { readonly dialog: 'edit' | 'remove'; readonly index: number }

interface RulesProps {
  readonly bucket: string
  readonly document: RulesDocument
  readonly onChanged: Reload<RulesDocument>
}

function Rules({ bucket, document, onChanged }: RulesProps) {
  const { rules, warnings, openings, etag } = document
  const queryClient = useQueryClient()
  const [open, setOpen] = useState<Open>()
  const mayManage = useRights(bucket).has('admin:ManageAccessRules')
  const close = () => setOpen(undefined)
  const changed = async (saved?: RulesDocument) => {
    await onChanged(saved && { document: saved, etag: saved.etag })
    await queryClient.invalidateQueries({ queryKey: ['buckets'] })
    await queryClient.invalidateQueries({ queryKey: ['bucket', bucket] })
  }
  /** The whole list at once, and only if it is still the one that is shown. */
  const save = async (next: readonly Rule[]) => {
    const saved = await call('putAccessRules', { params: { bucket }, body: { rules: [...next] }, ifMatch: etag })
    notifications.show({ color: 'teal', message: texts.common.saved })
    await changed(saved)
  }
  const check = (next: readonly Rule[]) =>
    call('putAccessRules', { params: { bucket }, query: { dryRun: true }, body: { rules: [...next] }, ifMatch: etag })
  return (
    <Stack>
      <Openness bucket={bucket} document={document} />
      <Warnings warnings={warnings.filter(warning => !openings.some(opening => opening.warning === warning))} />
      {mayManage && <Presets bucket={bucket} rules={rules} etag={etag} onChanged={changed} />}
      <Paper withBorder p="md">
        <Stack>
          <Group justify="space-between">
            <Title order={2} size="h5">
              {words.rules}
            </Title>
            {mayManage && (
              <Group gap="xs">
                <Button
                  variant="default"
                  leftSection={<IconFlask size={16} aria-hidden />}
                  onClick={() => setOpen({ dialog: 'test' })}
                >
                  {words.test}
                </Button>
                <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setOpen({ dialog: 'add' })}>
                  {words.add}
                </Button>
              </Group>
            )}
          </Group>
          <Text size="sm" c="dimmed">
            {rules.length === 0 ? words.none : words.rulesHint}
          </Text>
          {rules.map((rule, index) => (
            <RuleCard
              key={rule.id}
              rule={rule}
              {...(mayManage && {
                onEdit: () => setOpen({ dialog: 'edit', index }),
                onRemove: () => setOpen({ dialog: 'remove', index }),
              })}
            />
          ))}
        </Stack>
      </Paper>
      <Suspense>
        {open?.dialog === 'test' && <TestRules bucket={bucket} onClose={close} />}
        {open?.dialog === 'add' && (
          <EditRule
            bucket={bucket}
            place={rules.length}
            within={rule => [...rules, rule]}
            onCheck={rule => check([...rules, rule])}
            onSave={rule => save([...rules, rule])}
            onClose={close}
          />
        )}
        {open?.dialog === 'edit' && (
          <EditRule
            bucket={bucket}
            place={open.index}
            rule={rules[open.index]!}
            within={rule => rules.with(open.index, rule)}
            onCheck={rule => check(rules.with(open.index, rule))}
            onSave={rule => save(rules.with(open.index, rule))}
            onClose={close}
          />
        )}
      </Suspense>
      {open?.dialog === 'remove' && (
        <ConfirmDeletion
          title={words.removeTitle(rules[open.index]!.id)}
          action={texts.common.remove}
          onConfirm={() => save(rules.toSpliced(open.index, 1))}
          onClose={close}
        >
          <Text size="sm">{rules[open.index]!.effect === 'allow' ? words.removeAllow : words.removeDeny}</Text>
        </ConfirmDeletion>
      )}
    </Stack>
  )
}

function Openness({ bucket, document }: { bucket: string; document: RulesDocument }) {
  const { openings, blockPublic, objectLists } = document
  const list = openings.length > 0 && <Openings bucket={bucket} openings={openings} />
  const ofObjects = objectLists && (
    <Text size="sm" mt="xs">
      {words.objectLists}
    </Text>
  )
  if (blockPublic) {
    return (
      <Alert color="blue" title={words.blocked}>
        {list && words.blockedMeanwhile}
        {list}
      </Alert>
    )
  }
  if (list) {
    return (
      <Alert
        color="orange"
        icon={<IconAlertTriangle aria-hidden />}
        title={openings.every(({ from }) => from !== undefined) ? words.isPublicLater : words.isPublic}
      >
        {list}
        {ofObjects}
      </Alert>
    )
  }
  return (
    <Alert color="gray" title={words.isPrivate}>
      {words.isPrivateWhy}
      {ofObjects}
    </Alert>
  )
}
