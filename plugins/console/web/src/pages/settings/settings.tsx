/** The configuration by subsystem, and what holds for all buckets. */
import { Accordion, Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { IconCode, IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { AddInstance } from '../../parts/add-instance.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { State } from '../../parts/names.tsx'
import { Prose } from '../../parts/prose.tsx'
import { texts } from '../../texts/index.ts'
import { BlockPublicEverywhere } from './block-public-everywhere.tsx'
import { SubsystemForm } from './subsystem-form.tsx'

const WholeConfig = lazy(async () => ({ default: (await import('./whole-config.tsx')).WholeConfig }))

const words = texts.settings

export type Subsystem = Answer<'getConfigSchema'>[number]
export type Values = Readonly<Record<string, string>>

export function Settings() {
  const { open } = useSearch({ from: '/inside/settings' })
  const navigate = useNavigate()
  const [dialog, setDialog] = useState<'add' | 'whole'>()
  const close = () => setDialog(undefined)
  const [section, setSection] = useState<string | null>(open ?? null)
  const [asked, setAsked] = useState(open)
  if (asked !== open) {
    setAsked(open)
    if (open !== undefined) setSection(open)
  }
  const mayChange = useMay('admin:ConfigUpdate')
  const schema = useQuery({ queryKey: ['config-schema'], queryFn: ({ signal }) => call('getConfigSchema', { signal }) })
  const config = useQuery({ queryKey: ['config'], queryFn: ({ signal }) => call('getConfig', { signal }) })
  const error = schema.error ?? config.error
  const values = (config.data ?? {}) as Readonly<Record<string, Values>>
  // One that is being added has no values yet.
  const added = open?.includes(':') === true && values[open] === undefined ? [open] : []
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          {words.title}
        </Title>
        {mayChange && schema.data !== undefined && config.data !== undefined && (
          <Group gap="xs">
            <Button
              variant="default"
              leftSection={<IconCode size={16} aria-hidden />}
              onClick={() => setDialog('whole')}
            >
              {words.whole}
            </Button>
            <Button variant="default" leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setDialog('add')}>
              {words.add}
            </Button>
          </Group>
        )}
      </Group>
      {error !== null && (
        <ProblemAlert error={error} onRetry={() => Promise.all([schema.refetch(), config.refetch()])} />
      )}
      {error === null && (schema.data === undefined || config.data === undefined) && <Skeleton h={320} />}
      <BlockPublicEverywhere />
      {schema.data !== undefined && config.data !== undefined && (
        <Accordion
          value={section}
          onChange={setSection}
          variant="contained"
          // What is changed in a section that is closed again is still asked about.
          keepMountedMode="display-none"
        >
          {schema.data.flatMap(subsystem =>
            instancesOf(subsystem, [...Object.keys(values), ...added]).map(name => (
              <Accordion.Item key={name} value={name}>
                <Accordion.Control>
                  <Group gap="0 var(--mantine-spacing-xs)">
                    <Text fw={600}>{words.titleOf(name)}</Text>
                    <Text size="sm" c="dimmed">
                      {name}
                    </Text>
                    {name.includes(':') && values[name]?.enable === 'off' && (
                      <State text={texts.common.disabled} is="neutral" />
                    )}
                  </Group>
                  <Text size="sm" c="dimmed">
                    <Prose text={subsystem.description} />
                  </Text>
                </Accordion.Control>
                <Accordion.Panel>
                  <SubsystemForm
                    name={name}
                    keys={subsystem.keys}
                    values={values[name]}
                    // What was asked for by the address would be shown as one that is being added.
                    {...(name === open && { onRemoved: () => navigate({ to: '/settings', search: {} }) })}
                  />
                </Accordion.Panel>
              </Accordion.Item>
            )),
          )}
        </Accordion>
      )}
      {dialog === 'add' && (
        <AddInstance
          kinds={(schema.data ?? []).filter(({ multiple }) => multiple).map(({ name }) => name)}
          onChosen={name => navigate({ to: '/settings', search: { open: name } })}
          onClose={close}
        />
      )}
      <Suspense>{dialog === 'whole' && <WholeConfig onClose={close} />}</Suspense>
    </Stack>
  )
}

/** Subsystems that exist several times stand under each of their ids. */
function instancesOf({ name, multiple }: Subsystem, names: readonly string[]): string[] {
  if (!multiple) return [name]
  return names.filter(key => key === name || key.startsWith(`${name}:`))
}
