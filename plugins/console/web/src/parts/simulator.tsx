/** Why something is allowed or denied: every statement that was looked at. */
import { SimpleGrid, Stack, Table, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { call, withoutEmpty } from '../api/client.ts'
import type { Answer } from '../api/operations.ts'
import { formErrorsOf } from '../api/problem.ts'
import { texts } from '../texts/index.ts'
import { useForm } from './form.ts'
import { State } from './names.tsx'
import { Question, QuestionDrawer, Reasons } from './question.tsx'
import { Suggestions } from './suggestions.tsx'

const words = texts.simulator

export interface SimulatorProps {
  readonly user?: string
  readonly bucket?: string
}

export function Simulator({ user = '', bucket = '' }: SimulatorProps) {
  const form = useForm({
    initialValues: { user, action: 's3:GetObject', bucket, object: '', folder: '', sourceIp: '' },
  })
  const actions = useQuery({
    queryKey: ['names', 'actions'],
    queryFn: async ({ signal }) => (await call('listPolicyActions', { signal })).items.map(({ action }) => action),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const simulation = useMutation({
    mutationFn: () => {
      const { action, object, folder, ...rest } = form.getValues()
      const target = isListing(action) ? {} : { object }
      // The beginning of a bucket is a folder, too.
      const conditions = isListing(action) ? { conditions: { 's3:prefix': [folder] } } : {}
      return call('simulatePolicy', { body: { action, ...withoutEmpty({ ...rest, ...target }), ...conditions } })
    },
    onError: error => form.setErrors(formErrorsOf(error)),
  })
  return (
    <Question
      submit={words.run}
      isAsking={simulation.isPending}
      error={simulation.error}
      setErrors={form.setErrors}
      onAsk={form.onSubmit(() => simulation.mutate())}
      fields={
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextInput label={words.user} description={words.userHint} {...form.getInputProps('user')} />
          <Suggestions
            label={words.action}
            description={words.actionHint}
            required
            limit={20}
            data={actions.data ?? []}
            {...form.getInputProps('action')}
          />
          <TextInput label={words.bucket} {...form.getInputProps('bucket')} />
          {isListing(form.values.action) ? (
            <TextInput label={words.folder} description={words.folderHint} {...form.getInputProps('folder')} />
          ) : (
            <TextInput label={words.object} {...form.getInputProps('object')} />
          )}
          <TextInput label={words.sourceIp} description={words.sourceIpHint} {...form.getInputProps('sourceIp')} />
        </SimpleGrid>
      }
    >
      {simulation.data !== undefined && <Decision decision={simulation.data} />}
    </Question>
  )
}

/** These are decided by the prefix that is listed, not by an object. */
const isListing = (action: string): boolean => /^s3:ListBucket(Versions)?$/i.test(action.trim())

export function SimulatorDrawer({ user = '', onClose }: SimulatorProps & { readonly onClose: () => void }) {
  return (
    <QuestionDrawer title={words.title} onClose={onClose}>
      <Simulator user={user} />
    </QuestionDrawer>
  )
}

function Decision({ decision }: { decision: Answer<'simulatePolicy'> }) {
  const { allowed, reason, evaluated } = decision
  return (
    <Stack gap="xs" aria-live="polite">
      <div>
        <State text={allowed ? words.allowed : words.denied} is={allowed ? 'good' : 'bad'} />
      </div>
      <Text size="sm">{countedFromOne(reason)}</Text>
      <Text size="xs" c="dimmed">
        {words.notKnown}
      </Text>
      {evaluated.length > 0 && (
        <Reasons label={words.statements} heads={[words.policy, words.statement, words.effect, words.fits]}>
          {evaluated.map(({ source, policyName, group, index, sid, effect, matched, mismatch }) => (
            <Table.Tr key={`${source} ${policyName} ${group} ${index}`}>
              <Table.Td>
                {policyName === '' ? words.sources[source] : policyName}
                {group !== '' && ` (${words.ofGroup(group)})`}
              </Table.Td>
              <Table.Td>{sid === '' ? index + 1 : sid}</Table.Td>
              <Table.Td>{effect}</Table.Td>
              <Table.Td>{matched ? <State text={words.yes} is="neutral" /> : words.mismatch(mismatch ?? '')}</Table.Td>
            </Table.Tr>
          ))}
        </Reasons>
      )}
    </Stack>
  )
}

/** The server names a statement without a name by its index. */
const countedFromOne = (reason: string): string =>
  reason.replace(/^Statement (\d+) /, (_, index: string) => `Statement ${Number(index) + 1} `)
