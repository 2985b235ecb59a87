/** What the policy allows everybody, folder by folder. */
import { Button, Group, NativeSelect, Table, Text, TextInput } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { formErrorsOf } from '../../api/problem.ts'
import { useBesideFields } from '../../parts/beside-fields.ts'
import { choicesOf } from '../../parts/choices.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { useRights } from '../../parts/rights.ts'
import { Section } from '../../parts/section.tsx'
import { SentFields } from '../../parts/sent-fields.tsx'
import { Tool } from '../../parts/tool.tsx'
import { typedPrefix } from '../../parts/typed-folder.ts'
import { accessRuleTexts } from '../../texts/access-rules.ts'
import { texts } from '../../texts/index.ts'
import { openedByHand } from '../../texts/opened-by-hand.ts'
import { useOpenQuestion } from '../access/open-question.tsx'

const words = openedByHand.simpleAccess
const opening = accessRuleTexts

type Preset = keyof typeof words.presets
type Rule = Answer<'getBucketAccess'>['rules'][number]

export interface SimpleAccessProps {
  readonly bucket: string
  /** Whether something is typed in the policy beside it, which is read anew after a change. */
  readonly isPolicyTyped: boolean
  /** Told when the policy has changed; `isDraftLost`: somebody has agreed to lose what is typed. */
  readonly onChanged: (isDraftLost: boolean) => Promise<void>
}

export function SimpleAccess({ bucket, isPolicyTyped, onChanged }: SimpleAccessProps) {
  const params = { bucket }
  const queryClient = useQueryClient()
  const mayChange = useRights(bucket).has('s3:PutBucketPolicy')
  const queryKey = ['bucket-access', bucket]
  const { data, error } = useQuery({ queryKey, queryFn: ({ signal }) => call('getBucketAccess', { params, signal }) })
  const [removed, setRemoved] = useState<Rule | 'all'>()
  const changed = async (isDraftLost: boolean) => {
    await Promise.all(
      [queryKey, ['buckets'], ['bucket', bucket], ['access-rules', bucket]].map(key =>
        queryClient.invalidateQueries({ queryKey: key }),
      ),
    )
    await onChanged(isDraftLost)
  }
  const remove = async (of: Rule | 'all') => {
    await call('deleteBucketAccess', { params, query: of === 'all' ? {} : { prefix: of.prefix } })
    await changed(isPolicyTyped)
  }
  return (
    <Section title={words.title} hint={words.hint}>
      {error !== null && <ProblemAlert error={error} isStale={data !== undefined} />}
      {data?.rules.length === 0 && <Text size="sm">{words.none}</Text>}
      {data !== undefined && data.rules.length > 0 && (
        <Table aria-label={words.title}>
          <Table.Tbody>
            {data.rules.map(rule => (
              <Table.Tr key={rule.prefix}>
                <Table.Th style={{ overflowWrap: 'anywhere' }}>{rule.keys}</Table.Th>
                <Table.Td>{words.presets[rule.preset]}</Table.Td>
                <Table.Td ta="right">
                  {mayChange && <Tool label={words.remove(rule.keys)} icon={IconX} onClick={() => setRemoved(rule)} />}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      {mayChange && <Allow bucket={bucket} isPolicyTyped={isPolicyTyped} onChanged={changed} />}
      {mayChange && data !== undefined && data.rules.length > 1 && (
        <Group>
          <Button variant="light" color="red" size="compact-sm" onClick={() => setRemoved('all')}>
            {words.removeAll}
          </Button>
        </Group>
      )}
      {removed !== undefined && (
        <ConfirmDeletion
          title={removed === 'all' ? words.removeAllTitle : words.removeTitle(removed.keys)}
          action={texts.common.remove}
          onConfirm={() => remove(removed)}
          onClose={() => setRemoved(undefined)}
        >
          <Text size="sm">{words.removeText}</Text>
          {isPolicyTyped && draftLost}
        </ConfirmDeletion>
      )}
    </Section>
  )
}

const draftLost = <Text size="sm">{words.draftLost}</Text>

function Allow({ bucket, isPolicyTyped, onChanged }: SimpleAccessProps) {
  const [typed, setTyped] = useState('')
  const prefix = typedPrefix(typed)
  const [preset, setPreset] = useState<Preset>('download-list')
  const { ask, question } = useOpenQuestion()
  const applying = useMutation({
    async mutationFn(isDraftLost: boolean) {
      await call('setBucketAccess', { params: { bucket }, body: { prefix, preset } })
      await onChanged(isDraftLost)
    },
    onSuccess: () => setTyped(''),
  })
  const { element, unsaid } = useBesideFields(applying.error)
  const open = async () => {
    const objects = prefix === '' ? opening.everyObject : opening.objectsBelow(prefix)
    const more = isPolicyTyped && draftLost
    if (await ask([{ verbs: words.verbs[preset], objects }], { more })) applying.mutate(isPolicyTyped)
  }
  return (
    <>
      <form
        {...element}
        onSubmit={event => {
          event.preventDefault()
          void open()
        }}
      >
        {unsaid !== null && <ProblemAlert error={unsaid} />}
        <SentFields isSending={applying.isPending}>
          <Group align="flex-end">
            <TextInput
              {...words.prefix}
              value={typed}
              error={formErrorsOf(applying.error).prefix}
              inputWrapperOrder={['label', 'error', 'input']}
              onChange={event => {
                setTyped(event.currentTarget.value)
                applying.reset()
              }}
            />
            <NativeSelect
              label={words.preset}
              data={choicesOf(words.presets)}
              value={preset}
              onChange={event => setPreset(event.currentTarget.value as Preset)}
            />
            <Button type="submit" variant="default" loading={applying.isPending}>
              {words.apply}
            </Button>
          </Group>
        </SentFields>
      </form>
      {question}
    </>
  )
}
