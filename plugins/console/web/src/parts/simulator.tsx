/** Why something is allowed or denied: every statement that was looked at. */
import { Autocomplete, Button, Drawer, SimpleGrid, Stack, Table, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQuery } from '@tanstack/react-query'
import { call, withoutEmpty } from '../api/client.ts'
import type { Answer } from '../api/operations.ts'
import { formErrorsOf } from '../api/problem.ts'
import { texts } from '../texts/index.ts'
import { ProblemAlert } from './failure.tsx'
import { focusable } from './list-page.tsx'
import { State } from './names.tsx'

const words = texts.simulator

export interface SimulatorProps {
  readonly user?: string
  readonly bucket?: string
}

export function Simulator({ user = '', bucket = '' }: SimulatorProps) {
  const form = useForm({ initialValues: { user, action: 's3:GetObject', bucket, object: '', sourceIp: '' } })
  const actions = useQuery({
    queryKey: ['names', 'actions'],
    queryFn: async ({ signal }) => (await call('listPolicyActions', { signal })).items.map(({ action }) => action),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const simulation = useMutation({
    mutationFn: () => {
      const { action, ...rest } = form.getValues()
      return call('simulatePolicy', { body: { action, ...withoutEmpty(rest) } })
    },
    onError: error => form.setErrors(formErrorsOf(error)),
  })
  return (
    <form onSubmit={form.onSubmit(() => simulation.mutate())}>
      <Stack>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextInput label={words.user} description={words.userHint} {...form.getInputProps('user')} />
          <Autocomplete
            label={words.action}
            description={words.actionHint}
            required
            limit={20}
            data={actions.data ?? []}
            {...form.getInputProps('action')}
          />
          <TextInput label={words.bucket} {...form.getInputProps('bucket')} />
          <TextInput label={words.object} {...form.getInputProps('object')} />
          <TextInput label={words.sourceIp} {...form.getInputProps('sourceIp')} />
        </SimpleGrid>
        <div>
          <Button type="submit" loading={simulation.isPending}>
            {words.run}
          </Button>
        </div>
        {simulation.error !== null && <ProblemAlert error={simulation.error} />}
        {simulation.data !== undefined && <Decision decision={simulation.data} />}
      </Stack>
    </form>
  )
}

export function SimulatorDrawer({ user = '', onClose }: SimulatorProps & { readonly onClose: () => void }) {
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="xl"
      title={words.title}
      closeButtonProps={{ 'aria-label': texts.common.close }}
    >
      <Simulator user={user} />
    </Drawer>
  )
}

function Decision({ decision }: { decision: Answer<'simulatePolicy'> }) {
  const { allowed, reason, evaluated } = decision
  return (
    <Stack gap="xs" aria-live="polite">
      <div>
        <State text={allowed ? words.allowed : words.denied} is={allowed ? 'good' : 'bad'} />
      </div>
      <Text size="sm">{reason}</Text>
      {evaluated.length > 0 && (
        <Table.ScrollContainer minWidth={480} scrollAreaProps={focusable}>
          <Table aria-label={words.statements}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{words.policy}</Table.Th>
                <Table.Th>{words.statement}</Table.Th>
                <Table.Th>{words.effect}</Table.Th>
                <Table.Th>{words.fits}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {evaluated.map(({ source, policyName, group, index, sid, effect, matched, mismatch }) => (
                <Table.Tr key={`${source} ${policyName} ${group} ${index}`}>
                  <Table.Td>
                    {policyName === '' ? words.sources[source] : policyName}
                    {group !== '' && ` (${words.ofGroup(group)})`}
                  </Table.Td>
                  <Table.Td>{sid === '' ? index + 1 : sid}</Table.Td>
                  <Table.Td>{effect}</Table.Td>
                  <Table.Td>
                    {matched ? <State text={words.yes} is="neutral" /> : words.mismatch(mismatch ?? '')}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Stack>
  )
}
