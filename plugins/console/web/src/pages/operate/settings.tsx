import { Accordion, Badge, Button, Code, Group, Skeleton, Stack, Switch, Text, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { texts } from '../../texts/index.ts'

type Subsystem = Answer<'getConfigSchema'>[number]
type Key = Subsystem['keys'][number]
type Values = Readonly<Record<string, string>>

export function Settings() {
  const { open } = useSearch({ from: '/inside/settings' })
  const schema = useQuery({ queryKey: ['config-schema'], queryFn: ({ signal }) => call('getConfigSchema', { signal }) })
  const config = useQuery({ queryKey: ['config'], queryFn: ({ signal }) => call('getConfig', { signal }) })
  const error = schema.error ?? config.error
  const values = (config.data ?? {}) as Readonly<Record<string, Values>>
  return (
    <Stack>
      <Title order={1} size="h2">
        {texts.operate.settings}
      </Title>
      {error !== null && (
        <ProblemAlert error={error} onRetry={() => Promise.all([schema.refetch(), config.refetch()])} />
      )}
      {error === null && (schema.data === undefined || config.data === undefined) && <Skeleton h={320} />}
      {schema.data !== undefined && config.data !== undefined && (
        <Accordion key={open} variant="separated" {...(open !== undefined && { defaultValue: open })}>
          {schema.data.flatMap(subsystem =>
            instancesOf(subsystem, values).map(name => (
              <Accordion.Item key={name} value={name}>
                <Accordion.Control>
                  <Group gap="xs">
                    <Text fw={600}>{name}</Text>
                    <Text size="sm" c="dimmed">
                      {subsystem.description}
                    </Text>
                  </Group>
                </Accordion.Control>
                <Accordion.Panel>
                  <SubsystemForm
                    key={JSON.stringify(values[name])}
                    name={name}
                    keys={subsystem.keys}
                    values={values[name] ?? {}}
                  />
                </Accordion.Panel>
              </Accordion.Item>
            )),
          )}
        </Accordion>
      )}
    </Stack>
  )
}

/** Subsystems that exist several times stand under each of their ids. */
function instancesOf({ name, multiple }: Subsystem, values: Readonly<Record<string, Values>>): string[] {
  if (!multiple) return [name]
  return Object.keys(values).filter(key => key === name || key.startsWith(`${name}:`))
}

function SubsystemForm({ name, keys, values }: { name: string; keys: readonly Key[]; values: Values }) {
  const queryClient = useQueryClient()
  const mayChange = useMay('admin:ConfigUpdate')
  const form = useForm({
    initialValues: Object.fromEntries(keys.map(key => [key.name, values[key.name] ?? key.default])),
  })
  const saving = useMutation({
    async mutationFn() {
      const changed = Object.entries(form.values).filter(([key, value]) => value !== form.getInitialValues()[key])
      return call('updateConfigSubsystem', {
        params: { subsys: name },
        body: { settings: Object.fromEntries(changed) },
      })
    },
    async onSuccess({ notApplied }) {
      const message = notApplied.length === 0 ? texts.common.saved : texts.operate.afterRestart(notApplied.join(', '))
      notifications.show({ color: notApplied.length === 0 ? 'teal' : 'orange', message })
      await queryClient.invalidateQueries({ queryKey: ['config'] })
    },
  })
  return (
    <form onSubmit={form.onSubmit(() => saving.mutate())}>
      <Stack>
        {saving.error !== null && <ProblemAlert error={saving.error} />}
        {keys.map(key => (
          <Field
            key={key.name}
            of={key}
            isReadOnly={!mayChange}
            value={form.values[key.name] ?? ''}
            onChange={value => form.setFieldValue(key.name, value)}
          />
        ))}
        {mayChange && (
          <Group justify="flex-end">
            <Button type="submit" loading={saving.isPending} disabled={!form.isDirty()}>
              {texts.common.save}
            </Button>
          </Group>
        )}
      </Stack>
    </form>
  )
}

interface FieldProps {
  readonly of: Key
  readonly isReadOnly: boolean
  readonly value: string
  readonly onChange: (value: string) => void
}

function Field({ of: key, isReadOnly, value, onChange }: FieldProps) {
  const description = (
    <>
      {key.description} <Code>{key.default === '' ? texts.operate.noDefault : texts.operate.default(key.default)}</Code>{' '}
      {!key.applied && (
        <Badge size="xs" variant="light" color="orange" tt="none">
          {texts.operate.needsRestart}
        </Badge>
      )}
    </>
  )
  if (key.type === 'boolean') {
    return (
      <Switch
        label={key.name}
        description={description}
        checked={value === 'on'}
        disabled={isReadOnly}
        onChange={event => onChange(event.currentTarget.checked ? 'on' : 'off')}
      />
    )
  }
  return (
    <TextInput
      label={key.name}
      description={description}
      value={value}
      readOnly={isReadOnly}
      autoComplete="off"
      onChange={event => onChange(event.currentTarget.value)}
      {...(key.values.length > 0 && { placeholder: key.values.join(', ') })}
    />
  )
}
