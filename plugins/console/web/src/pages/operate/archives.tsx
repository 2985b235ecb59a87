/** Exports of settings, and imports that are shown as what would change before they do. */
import { Alert, Button, FileInput, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, urlOf } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { choicesOf } from '../../parts/choices.ts'
import { ConfirmDeletion } from '../../parts/confirm-deletion.tsx'
import { Facts } from '../../parts/facts.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.tools

type Kind = keyof typeof words.kinds
type Mode = keyof typeof words.modes
type Result = Answer<'importCluster'>

const download = (href: string, label: string) => (
  <Button component="a" href={href} download variant="default" leftSection={<IconDownload size={16} aria-hidden />}>
    {label}
  </Button>
)

export function Archives() {
  const mayExport = useMay('admin:ExportCluster')
  const mayRead = useMay('admin:GetConfig')
  const kinds = { cluster: useMay('admin:ImportCluster'), config: useMay('admin:ConfigUpdate') }
  return (
    <Stack>
      <Group gap="xs">
        {mayExport && download(urlOf('exportCluster'), words.exportCluster)}
        {mayRead && download(urlOf('exportConfig'), words.exportConfig)}
      </Group>
      {(kinds.cluster || kinds.config) && <Import kinds={kinds} />}
    </Stack>
  )
}

function Import({ kinds }: { kinds: Readonly<Record<Kind, boolean>> }) {
  const queryClient = useQueryClient()
  const [file, setFile] = useState<File | null>(null)
  const [kind, setKind] = useState<Kind>(kinds.cluster ? 'cluster' : 'config')
  const [mode, setMode] = useState<Mode>('merge')
  const [isAsking, setAsking] = useState(false)
  const send = async (dryRun: boolean): Promise<Result> => {
    const raw = file!.slice(0, file!.size, await typeOf(kind, file!))
    const request = { query: { mode, dryRun }, raw }
    const result = await (kind === 'cluster' ? call('importCluster', request) : call('importConfig', request))
    if (!dryRun) await queryClient.invalidateQueries()
    return result
  }
  const sending = useMutation({ mutationFn: send })
  const choose = (change: () => void) => {
    change()
    sending.reset()
  }
  const looked = sending.data?.dryRun === true
  return (
    <Stack gap="sm">
      <FileInput
        label={words.file}
        placeholder={words.file}
        value={file}
        clearable
        clearButtonProps={{ 'aria-label': texts.common.remove }}
        onChange={chosen => choose(() => setFile(chosen))}
      />
      <Group grow align="flex-end">
        <NativeSelect
          label={words.kind}
          data={choicesOf(words.kinds).filter(({ value }) => kinds[value as Kind])}
          value={kind}
          onChange={event => choose(() => setKind(event.currentTarget.value as Kind))}
        />
        <NativeSelect
          label={words.mode}
          data={choicesOf(words.modes)}
          value={mode}
          onChange={event => choose(() => setMode(event.currentTarget.value as Mode))}
        />
      </Group>
      <Group gap="xs">
        <Button
          variant="default"
          disabled={file === null}
          loading={sending.isPending}
          onClick={() => sending.mutate(true)}
        >
          {words.look}
        </Button>
        {looked && (
          <Button onClick={() => (mode === 'replace' ? setAsking(true) : sending.mutate(false))}>{words.apply}</Button>
        )}
      </Group>
      {sending.error !== null && <ProblemAlert error={sending.error} />}
      {sending.data !== undefined && <Changes result={sending.data} />}
      {isAsking && (
        <ConfirmDeletion
          title={words.importTitle}
          action={words.apply}
          typed={words.modes.replace}
          onConfirm={async () => void (await sending.mutateAsync(false))}
          onClose={() => setAsking(false)}
        >
          <Text size="sm">{words.replaceText}</Text>
        </ConfirmDeletion>
      )}
    </Stack>
  )
}

/** The configuration may be written either way. */
async function typeOf(kind: Kind, file: File): Promise<string> {
  if (kind === 'cluster') return 'application/zip'
  return (await file.slice(0, 64).text()).trimStart().startsWith('{') ? 'application/json' : 'text/plain'
}

function Changes({ result }: { result: Result }) {
  const { dryRun, bucketsCreated, created = [], changed = [], removed, ...counts } = result
  const list = (label: string, names: readonly string[]) => [label, names.join(', ')] as const
  return (
    <Alert color={dryRun ? 'blue' : 'teal'} title={dryRun ? words.would : words.did} role="status">
      <Facts
        facts={[
          ...Object.entries(words.counts).map(
            ([name, label]) => [label, String(counts[name as keyof typeof words.counts])] as const,
          ),
          list(words.created, bucketsCreated),
          list(words.documentsCreated, created),
          list(words.changed, changed),
          list(words.removed, removed),
        ]}
      />
    </Alert>
  )
}
