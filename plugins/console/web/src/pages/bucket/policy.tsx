/** The bucket's own policy, checked by the server while one types. */
import { Button, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { call, callTagged, type Tagged } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { CheckedPolicy } from '../../parts/checked-policy.tsx'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { Conflict, isConflict } from '../../parts/conflict.tsx'
import { requireNoPlaceholder } from '../../parts/placeholder.ts'
import { useRights } from '../../parts/rights.ts'
import { SaveBar } from '../../parts/save-bar.tsx'
import { Section } from '../../parts/section.tsx'
import { SentFields } from '../../parts/sent-fields.tsx'
import { Simulator } from '../../parts/simulator.tsx'
import { type Reload, StoredDocument } from '../../parts/stored-document.tsx'
import { Unsaved } from '../../parts/unsaved.tsx'
import { texts } from '../../texts/index.ts'
import { effectOfOpening, useOpenQuestion } from '../access/open-question.tsx'
import type { Opening } from '../access/openings.tsx'
import { SimpleAccess } from './simple-access.tsx'
import { WithoutPolicy } from './without-policy.tsx'

const templateOf = (bucket: string) => ({
  Version: '2012-10-17',
  Statement: [
    {
      Effect: 'Allow',
      Principal: { AWS: ['arn:aws:iam:::user/USER'] },
      Action: ['s3:GetObject'],
      Resource: [`arn:aws:s3:::${bucket}/*`],
    },
  ],
})

export function Policy({ bucket }: { bucket: string }) {
  const params = { bucket }
  const queryClient = useQueryClient()
  const mayChange = useRights(bucket).has('s3:PutBucketPolicy')
  const [isTyped, setTyped] = useState(false)
  const [draws, setDraws] = useState(0)
  const load = async (signal: AbortSignal): Promise<Tagged<object | undefined>> => {
    try {
      return await callTagged('getBucketPolicy', { params, signal })
    } catch (error) {
      if (error instanceof Problem && error.status === 404) return { document: undefined, etag: undefined }
      throw error
    }
  }
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      {/* One cell, also where something is told above the document. */}
      <Stack>
        <StoredDocument key={draws} queryKey={['bucket-policy', bucket]} load={load}>
          {({ document, etag }, reload) =>
            mayChange ? (
              <Editor bucket={bucket} document={document} etag={etag} onTyped={setTyped} onChanged={reload} />
            ) : (
              <Shown bucket={bucket} document={document} />
            )
          }
        </StoredDocument>
      </Stack>
      <Stack>
        <SimpleAccess
          bucket={bucket}
          isPolicyTyped={isTyped}
          onChanged={async isDraftLost => {
            if (isDraftLost) setDraws(draws + 1)
            await queryClient.invalidateQueries({ queryKey: ['bucket-policy', bucket] })
          }}
        />
        <Section title={texts.simulator.title}>
          <Simulator bucket={bucket} />
        </Section>
      </Stack>
    </SimpleGrid>
  )
}

/** For whoever may read it alone. */
function Shown({ bucket, document }: Pick<EditorProps, 'bucket' | 'document'>) {
  if (document === undefined) return <WithoutPolicy bucket={bucket} />
  return <CheckedPolicy text={JSON.stringify(document, undefined, 2)} onChange={() => {}} bucket={bucket} isReadOnly />
}

interface EditorProps {
  readonly bucket: string
  /** Undefined where the bucket has no policy. */
  readonly document: object | undefined
  readonly etag: string | undefined
  /** Told whether something is typed that is not saved. */
  readonly onTyped: (isTyped: boolean) => void
  readonly onChanged: Reload<object | undefined>
}

function Editor({ bucket, document, etag, onTyped, onChanged }: EditorProps) {
  const params = { bucket }
  const queryClient = useQueryClient()
  const given = etag === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: etag }
  const initial = JSON.stringify(document ?? templateOf(bucket), undefined, 2)
  const [text, setText] = useState(initial)
  /** In the layout in which it was typed. */
  const [saved, setSaved] = useState(initial)
  const isTyped = text !== saved
  useEffect(() => {
    onTyped(isTyped)
    return () => onTyped(false)
  }, [isTyped, onTyped])
  const isExample = document === undefined && text === initial
  const [isRemoving, setRemoving] = useState(false)
  const saving = useMutation({
    mutationFn: (checked: string) => callTagged('putBucketPolicy', { params, body: JSON.parse(checked), ...given }),
    async onSuccess(stored, checked) {
      notifications.show({ color: 'teal', message: texts.common.saved })
      await queryClient.invalidateQueries({ queryKey: ['bucket-access', bucket] })
      await onChanged(stored)
      setSaved(checked)
    },
  })
  const mayDelete = useRights(bucket).has('s3:DeleteBucketPolicy')
  const { ask, question } = useOpenQuestion()
  const checking = useMutation({
    async mutationFn(text: string) {
      requireNoPlaceholder(text)
      // The server gets the document without its layout: places in its answer to the change would be others than these.
      const { errors, openings } = await call('validatePolicy', { body: { document: text, bucket } })
      if (errors.length > 0) throw new Error(texts.policies.mistakes(errors.length))
      const before = statementsOf(document)
      const wanted = statementsOf(JSON.parse(text))
      const known = new Set(before.map(({ reach }) => reach))
      const kept = new Set(wanted.map(({ reach }) => reach))
      // What a statement refused may be open to everybody by another one, or by a rule.
      const denied = before.some(({ isDeny, reach }) => isDeny && !kept.has(reach))
      const opened = openings.filter(({ statement }) => denied || !known.has(wanted[statement]!.reach))
      const others = denied ? await otherOpenings(bucket) : []
      return { denied, effects: [...opened.map(({ opens }) => opens), ...others].map(effectOfOpening) }
    },
    async onSuccess({ denied, effects }, checked) {
      if (await ask(effects, { isLoosened: denied })) saving.mutate(checked)
    },
  })
  const save = () => {
    saving.reset()
    checking.mutate(text)
  }
  const discarding = useMutation({
    async mutationFn() {
      if (isConflict(saving.error) && !(await onChanged())) return
      setText(saved)
      saving.reset()
      checking.reset()
    },
  })
  const isBusy = checking.isPending || saving.isPending || discarding.isPending
  return (
    <Stack>
      {document === undefined && <WithoutPolicy bucket={bucket} />}
      <Conflict error={saving.error ?? checking.error} onLoad={onChanged} />
      <SentFields isSending={isBusy}>
        <CheckedPolicy
          text={text}
          onChange={setText}
          bucket={bucket}
          {...(isExample && { example: texts.policies.example })}
        />
      </SentFields>
      {document !== undefined && mayDelete && !isTyped && (
        <Group>
          <Button variant="light" color="red" onClick={() => setRemoving(true)}>
            {texts.bucket.removePolicy}
          </Button>
        </Group>
      )}
      <Unsaved isDirty={isTyped} isQuiet />
      {isTyped && <SaveBar isSaving={isBusy} onSave={save} onDiscard={() => discarding.mutate()} />}
      {question}
      {isRemoving && (
        <ConfirmDeletion
          title={texts.bucket.removePolicy}
          onConfirm={async () => {
            await call('deleteBucketPolicy', { params, ...given })
            await queryClient.invalidateQueries({ queryKey: ['bucket-access', bucket] })
            await onChanged({ document: undefined, etag: undefined })
          }}
          onClose={() => setRemoving(false)}
        >
          <Text size="sm">{texts.bucket.removePolicyText}</Text>
        </ConfirmDeletion>
      )}
    </Stack>
  )
}

interface Document {
  readonly Version?: string
  readonly Statement?: Statement | readonly Statement[]
}
type Statement = { readonly Effect?: unknown }

/** Two statements with the same `reach` do the same: without the version of 2012, variables are ordinary text. */
function statementsOf(document: object | undefined) {
  const { Version = '2008-10-17', Statement = [] } = (document ?? {}) as Document
  return [Statement].flat().map((statement: Statement) => ({
    isDeny: statement.Effect === 'Deny',
    reach: JSON.stringify({ ...statement, Sid: undefined, Version }),
  }))
}

/** What lets everybody in beside the policy. Whoever may not ask is told of the policy alone. */
async function otherOpenings(bucket: string): Promise<readonly Opening[]> {
  const asked = call('getAccessRules', { params: { bucket } }).catch(error => {
    if (error instanceof Problem && error.status === 403) return { openings: [] }
    throw error
  })
  return (await asked).openings.filter(({ source, blocked }) => source !== 'bucket-policy' && !blocked)
}
