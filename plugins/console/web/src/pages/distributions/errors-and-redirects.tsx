import { Button, Group, NativeSelect, Paper, SimpleGrid, Stack, Switch, TextInput, Title } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { choicesOf } from '../../parts/choices.ts'
import { focusNewField } from '../../parts/focus-new.ts'
import { MoveButtons } from '../../parts/move-buttons.tsx'
import { NumberInput } from '../../parts/number-input.tsx'
import { texts } from '../../texts/index.ts'
import type { Draft } from './draft.ts'
import { useDraft } from './form.ts'

const words = texts.distributions

export function ErrorsAndRedirects() {
  return (
    <Stack gap="xl">
      <Parts
        list="errorPages"
        title={words.errorPages}
        add={words.addErrorPage}
        name={words.errorPage}
        initial={{ status: 404, path: '/404.html', responseStatus: '' }}
      >
        {path => <ErrorPage path={path} />}
      </Parts>
      <Parts
        list="redirects"
        title={words.redirects}
        add={words.addRedirect}
        name={words.redirect}
        initial={{ from: '', to: '', hostFrom: '', toHost: '', httpsOnly: false, status: '' }}
      >
        {path => <Redirect path={path} />}
      </Parts>
    </Stack>
  )
}

interface PartsProps {
  readonly list: 'errorPages' | 'redirects'
  readonly title: string
  readonly add: string
  readonly name: (index: number) => string
  readonly initial: Draft['errorPages'][number] | Draft['redirects'][number]
  readonly children: (path: string) => ReactNode
}

function Parts({ list, title, add, name, initial, children }: PartsProps) {
  const form = useDraft()
  const items: readonly unknown[] = form.getValues()[list]
  return (
    <Stack>
      <Title order={2} size="h4">
        {title}
      </Title>
      {items.map((_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they have no identity but their place
        <Paper key={index} withBorder p="md">
          {children(`${list}.${index}`)}
          <Group justify="flex-end" mt="xs">
            <MoveButtons
              nameOf={at => name(at + 1)}
              index={index}
              count={items.length}
              onMove={to => form.reorderListItem(list, { from: index, to })}
              onRemove={() => form.removeListItem(list, index)}
            />
          </Group>
        </Paper>
      ))}
      <Group>
        <Button
          variant="default"
          leftSection={<IconPlus size={16} aria-hidden />}
          onClick={() => {
            focusNewField()
            form.insertListItem(list, initial)
          }}
        >
          {add}
        </Button>
      </Group>
    </Stack>
  )
}

function ErrorPage({ path }: { path: string }) {
  const form = useDraft()
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      <NumberInput label={words.status} {...form.getInputProps(`${path}.status`)} />
      <TextInput label={words.path} {...form.getInputProps(`${path}.path`)} />
      <NumberInput {...words.responseStatus} {...form.getInputProps(`${path}.responseStatus`)} />
    </SimpleGrid>
  )
}

function Redirect({ path }: { path: string }) {
  const form = useDraft()
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput label={words.from} description={words.fromHint} {...form.getInputProps(`${path}.from`)} />
        <TextInput label={words.to} description={words.toHint} {...form.getInputProps(`${path}.to`)} />
        <TextInput label={words.hostFrom} {...form.getInputProps(`${path}.hostFrom`)} />
        <TextInput label={words.toHost} {...form.getInputProps(`${path}.toHost`)} />
        <NativeSelect label={words.status} data={choicesOf(words.statuses)} {...form.getInputProps(`${path}.status`)} />
      </SimpleGrid>
      <Switch label={words.httpsOnly} {...form.getInputProps(`${path}.httpsOnly`, { type: 'checkbox' })} />
    </Stack>
  )
}
