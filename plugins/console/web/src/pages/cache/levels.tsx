/** Levels below the distribution: each for one domain, or one behaviour. */
import { Button, Group, Paper, Stack, Title } from '@mantine/core'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { focusNewField } from '../../parts/focus-new.ts'
import { Tool } from '../../parts/tool.tsx'
import { texts } from '../../texts/index.ts'
import type { DistributionDraft } from './distribution-draft.ts'
import type { DistributionForm } from './distribution-settings.tsx'
import { LevelFields } from './level-fields.tsx'

type List = 'domains' | 'behaviors'

export interface LevelsProps<Name extends List> {
  readonly form: DistributionForm
  readonly list: Name
  readonly title: string
  readonly add: string
  readonly name: (index: number) => string
  readonly initial: () => DistributionDraft[Name][number]
  /** Renders the fields of the level; gets its path in the form. */
  readonly children: (path: string) => ReactNode
}

export function Levels<Name extends List>({ form, list, title, add, name, initial, children }: LevelsProps<Name>) {
  return (
    <Stack>
      <Title order={2} size="h4">
        {title}
      </Title>
      {form.values[list].map(({ cache }, index) => {
        const path = `${list}.${index}`
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: they have no identity but their place
          <Paper key={index} withBorder p="md" role="group" aria-label={name(index + 1)}>
            <Stack gap="sm">
              {children(path)}
              <LevelFields
                form={form}
                path={`${path}.cache`}
                level={cache}
                hasQuota={list === 'domains'}
                webhooks={form.values.webhooks.map(each => each.id)}
              />
              <Group justify="flex-end">
                <Tool
                  label={`${texts.common.remove} ${name(index + 1)}`}
                  icon={IconTrash}
                  onClick={() => form.removeListItem(list, index)}
                />
              </Group>
            </Stack>
          </Paper>
        )
      })}
      <Group>
        <Button
          variant="default"
          leftSection={<IconPlus size={16} aria-hidden />}
          onClick={() => {
            focusNewField()
            form.insertListItem(list, initial() as never)
          }}
        >
          {add}
        </Button>
      </Group>
    </Stack>
  )
}
