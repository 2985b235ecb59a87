/** Exports of settings, and imports that are shown as what would change before they do. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { call, urlOf } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { Facts } from '../../parts/facts.tsx'
import { ImportForm } from '../../parts/import-form.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.tools

type Kind = keyof typeof words.kinds
type Result = Answer<'importCluster'>

const download = (href: string, label: string) => (
  <Button component="a" href={href} download variant="default" leftSection={<IconDownload size={16} aria-hidden />}>
    {label}
  </Button>
)

export function Archives() {
  const mayExport = useMay('admin:ExportCluster')
  const mayRead = useMay('admin:GetConfig')
  const mayImport = useMay('admin:ImportCluster')
  const mayChange = useMay('admin:ConfigUpdate')
  const { cluster, config } = words.kinds
  const kinds = { ...(mayImport && { cluster }), ...(mayChange && { config }) }
  return (
    <Stack>
      <Group gap="xs">
        {mayExport && download(urlOf('exportCluster'), words.exportCluster)}
        {mayRead && download(urlOf('exportConfig'), words.exportConfig)}
      </Group>
      {(mayImport || mayChange) && (
        <ImportForm
          kinds={kinds}
          replaceText={words.replaceText}
          send={async ({ file, kind, mode, dryRun }): Promise<Result> => {
            const request = { query: { mode, dryRun }, raw: file.slice(0, file.size, await typeOf(kind, file)) }
            return kind === 'cluster' ? call('importCluster', request) : call('importConfig', request)
          }}
        >
          {result => <Changes result={result} />}
        </ImportForm>
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
  const { dryRun, bucketsCreated, created, changed, removed, ...counts } = result
  // The import of a configuration tells what it removes, and not which of the other keys differ.
  const isCompared = created !== undefined && changed !== undefined
  const changes = [
    [words.created, bucketsCreated],
    [words.documentsCreated, created ?? []],
    [words.changed, changed ?? []],
    [words.removed, removed],
  ] as const
  const isSame = isCompared && changes.every(([, names]) => names.length === 0)
  const contents = Object.entries(words.counts).flatMap(([name, label]) => {
    const count = Number(counts[name as keyof typeof words.counts])
    return count === 0 ? [] : [`${count.toLocaleString('en')} ${label}`]
  })
  return (
    <Alert
      color={dryRun ? 'blue' : 'teal'}
      title={dryRun ? (isSame ? words.same : words.would) : words.did}
      role="status"
    >
      <Facts facts={changes.map(([label, names]) => [label, names.join(', ')])} />
      <Text size="sm">
        {contents.length === 0 ? words.fileIsEmpty : words.fileHas(new Intl.ListFormat('en').format(contents))}
        {!isCompared && ` ${words.notCompared}`}
      </Text>
    </Alert>
  )
}
