/** What would be answered now, key by key, and by which rule. */
import { Button, Drawer, NativeSelect, SimpleGrid, Stack, Table, TagsInput, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { call, withoutEmpty } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { formErrorsOf } from '../../api/problem.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { focusable } from '../../parts/list-page.tsx'
import { State } from '../../parts/names.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.accessRules

export function TestRules({ bucket, onClose }: { bucket: string; onClose: () => void }) {
  const form = useForm({
    initialValues: {
      keys: [] as string[],
      action: 'read',
      principal: '',
      ip: '',
      host: '',
      method: '',
      referer: '',
      secure: '',
    },
  })
  const test = useMutation({
    mutationFn: () => {
      const { keys, secure, ...given } = form.getValues()
      const body = {
        ...withoutEmpty(given),
        ...(keys.length > 0 && { keys }),
        ...(secure !== '' && { secure: secure === 'true' }),
      }
      return call('testAccessRules', { params: { bucket }, body })
    },
    onError: error => form.setErrors(formErrorsOf(error)),
  })
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="xl"
      title={words.testTitle}
      closeButtonProps={{ 'aria-label': texts.common.close }}
    >
      <form onSubmit={form.onSubmit(() => test.mutate())}>
        <Stack>
          <Text size="sm" c="dimmed">
            {words.testHint}
          </Text>
          <TagsInput label={words.keys} data-autofocus {...form.getInputProps('keys')} />
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            <TextInput label={words.action} {...form.getInputProps('action')} />
            <TextInput label={words.principal} {...form.getInputProps('principal')} />
            <TextInput label={words.ip} {...form.getInputProps('ip')} />
            <TextInput label={words.host} {...form.getInputProps('host')} />
            <TextInput label={words.referer} {...form.getInputProps('referer')} />
            <TextInput label={words.method} {...form.getInputProps('method')} />
            <NativeSelect
              label={words.secure}
              data={[
                { value: '', label: words.secures[''] },
                { value: 'true', label: words.secures.true },
                { value: 'false', label: words.secures.false },
              ]}
              {...form.getInputProps('secure')}
            />
          </SimpleGrid>
          <div>
            <Button type="submit" loading={test.isPending}>
              {words.test}
            </Button>
          </div>
          {test.error !== null && <ProblemAlert error={test.error} />}
          {test.data !== undefined && <Results results={test.data.results} />}
        </Stack>
      </form>
    </Drawer>
  )
}

function Results({ results }: Pick<Answer<'testAccessRules'>, 'results'>) {
  return (
    <Table.ScrollContainer minWidth={480} scrollAreaProps={focusable}>
      <Table aria-label={words.result}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{words.keys}</Table.Th>
            <Table.Th>{words.result}</Table.Th>
            <Table.Th>{words.ruleColumn}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {results.map(({ key, allowed, reason, rules }) => (
            <Table.Tr key={key}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{key}</Table.Td>
              <Table.Td>
                <State text={allowed ? words.allowed : words.denied} is={allowed ? 'good' : 'bad'} />
                <Text size="xs">{reason}</Text>
              </Table.Td>
              <Table.Td>
                {rules.map(({ id, matched, mismatch = '', condition = '' }) => (
                  <Text key={id} size="xs" {...(!matched && { c: 'dimmed' })}>
                    {matched ? words.fits(id) : words.fitsNot(id, condition === '' ? mismatch : condition)}
                  </Text>
                ))}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
