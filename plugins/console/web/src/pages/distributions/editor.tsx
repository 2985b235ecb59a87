/** One distribution: every setting, tested before it is saved. */
import { Button, Group, Skeleton, Stack, Tabs, Text, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconKey } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { formErrorsOf } from '../../api/problem.ts'
import { useMay } from '../../app/signed-in.ts'
import { Conflict } from '../../parts/conflict.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { Warnings } from '../../parts/warnings.tsx'
import { texts } from '../../texts/index.ts'
import { AllHeaders, Behaviors } from './behaviors.tsx'
import { type Distribution, documentOf, draftOf } from './draft.ts'
import { ErrorsAndRedirects } from './errors-and-redirects.tsx'
import { DraftProvider, useDraftForm } from './form.ts'
import { General } from './general.tsx'
import { Restrictions } from './restrictions.tsx'
import { SignLink } from './sign-link.tsx'
import { TestRequest } from './test-request.tsx'

const words = texts.distributions

export function DistributionPage() {
  const { id } = useParams({ from: '/inside/distributions/$id' })
  const stored = useQuery({
    queryKey: ['distribution', id],
    queryFn: ({ signal }) => call('getDistribution', { params: { id }, signal }),
    // What somebody is typing is not replaced by what comes in meanwhile.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: 'always',
  })
  const [warnings, setWarnings] = useState<readonly string[]>([])
  if (stored.error !== null) return <ProblemAlert error={stored.error} onRetry={() => stored.refetch()} />
  if (stored.data === undefined || !stored.isFetchedAfterMount) return <Skeleton h={400} />
  return (
    <Editor
      key={stored.data.etag}
      stored={stored.data}
      warnings={warnings}
      onSaved={async saved => {
        setWarnings(saved?.warnings ?? [])
        await stored.refetch()
      }}
    />
  )
}

interface EditorProps {
  readonly stored: Distribution
  readonly warnings: readonly string[]
  readonly onSaved: (saved?: Distribution) => Promise<void>
}

function Editor({ stored, warnings, onSaved }: EditorProps) {
  const { id, etag } = stored
  const queryClient = useQueryClient()
  const form = useDraftForm({ initialValues: draftOf(stored) })
  const [isSigning, setSigning] = useState(false)
  const maySign = useMay('admin:SignDistributionURL')
  const saving = useMutation({
    mutationFn: () => call('putDistribution', { params: { id }, body: documentOf(form.getValues()), ifMatch: etag }),
    async onSuccess(saved) {
      notifications.show({ color: 'teal', message: words.saved(id) })
      await queryClient.invalidateQueries({ queryKey: ['distributions'] })
      await onSaved(saved)
    },
    onError: error => form.setErrors(formErrorsOf(error)),
  })
  const isSigned = [stored.defaultBehavior, ...stored.behaviors].some(({ access }) => access === 'signed')
  return (
    <DraftProvider form={form}>
      <form onSubmit={form.onSubmit(() => saving.mutate())}>
        <Stack>
          <Group justify="space-between">
            <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
              {id}
            </Title>
            <Group gap="xs">
              {maySign && isSigned && (
                <Button
                  variant="default"
                  leftSection={<IconKey size={16} aria-hidden />}
                  onClick={() => setSigning(true)}
                >
                  {words.sign}
                </Button>
              )}
              <Button type="submit" loading={saving.isPending} disabled={!form.isDirty()}>
                {texts.common.save}
              </Button>
            </Group>
          </Group>
          {form.isDirty() && (
            <Text size="sm" c="dimmed">
              {texts.common.unsaved}
            </Text>
          )}
          <Conflict error={saving.error} onLoad={() => onSaved()} />
          <Warnings warnings={warnings} />
          <Sections id={id} onRotated={() => void onSaved()} />
        </Stack>
      </form>
      {isSigning && <SignLink id={id} domains={stored.aliases} onClose={() => setSigning(false)} />}
    </DraftProvider>
  )
}

function Sections({ id, onRotated }: { id: string; onRotated: () => void }) {
  return (
    <Tabs defaultValue="general" keepMounted={false}>
      <Tabs.List mb="md">
        {Object.entries(words.tabs).map(([tab, label]) => (
          <Tabs.Tab key={tab} value={tab}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value="general">
        <General />
      </Tabs.Panel>
      <Tabs.Panel value="behaviors">
        <Behaviors />
      </Tabs.Panel>
      <Tabs.Panel value="pages">
        <ErrorsAndRedirects />
      </Tabs.Panel>
      <Tabs.Panel value="headers">
        <AllHeaders />
      </Tabs.Panel>
      <Tabs.Panel value="restrictions">
        <Restrictions id={id} onRotated={onRotated} />
      </Tabs.Panel>
      <Tabs.Panel value="test">
        <TestRequest id={id} />
      </Tabs.Panel>
    </Tabs>
  )
}
