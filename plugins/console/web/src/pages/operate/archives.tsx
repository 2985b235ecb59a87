/** Exports of settings, and imports that are shown as what would change before they do. */
import { Alert, Button, Group, List, Stack, Text } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { call, urlOf } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { useAskFirst } from '../../parts/ask-first.tsx'
import { Facts } from '../../parts/facts.tsx'
import { ImportForm } from '../../parts/import-form.tsx'
import { counted } from '../../texts/counted.ts'
import { texts } from '../../texts/index.ts'

const words = texts.tools

/** Documents that can let in those who have no credentials: a link that was shared is an access key. */
const decidesAccess =
  /^(distribution\/|key-group\/|access-key\/SVCSHARE|bucket\/[^/]+\/(bucket-policy|bucket-acl|access-rules|ownership-controls|public-access-block)$|(config\/)?access$)/
/** Those of them that let in nobody once they are gone. Others may have closed something. */
const opensAlone = /^(distribution\/|key-group\/|access-key\/|bucket\/[^/]+\/bucket-acl$)/
/** Fields of distributions and key groups that let in nobody. */
const closedFields: readonly string[] = ['comment']
/** Documents by which objects, or old versions, can be lost that stay now. */
const decidesLoss = /^bucket\/[^/]+\/(bucket-lifecycle|versioning|object-lock)$/
/** Those of them that keep more once they are gone. */
const keepsAlone = /^bucket\/[^/]+\/bucket-lifecycle$/
const namesShownMax = 10

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
  const { ask, question } = useAskFirst()
  const confirm = async (result: Result): Promise<boolean> => {
    const { bucketsCreated, created = [], changed = [], fields = {}, removed } = result
    const opening = [
      ...created,
      ...changed.filter(name => mayDecide(name, fields[name] ?? [])),
      ...removed.filter(name => !opensAlone.test(name)),
    ].filter(name => decidesAccess.test(name))
    // A new bucket has nothing to lose, and rules that go delete nothing any more.
    const losing = [...created, ...changed, ...removed.filter(name => !keepsAlone.test(name))].filter(
      name => decidesLoss.test(name) && !bucketsCreated.includes(name.split('/')[1]!),
    )
    if (opening.length + losing.length === 0) return true
    const text = (
      <>
        {opening.length > 0 && <Named why={words.mayOpen} names={opening} />}
        {losing.length > 0 && <Named why={words.mayLose} names={losing} />}
      </>
    )
    const title = opening.length > 0 ? words.mayOpenTitle : words.mayLoseTitle
    return ask({ title, action: words.apply, text })
  }
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
          confirm={confirm}
          send={async ({ file, kind, mode, dryRun }): Promise<Result> => {
            const request = { query: { mode, dryRun }, raw: file.slice(0, file.size, await typeOf(kind, file)) }
            return kind === 'cluster' ? call('importCluster', request) : call('importConfig', request)
          }}
        >
          {result => <Changes result={result} />}
        </ImportForm>
      )}
      {question}
    </Stack>
  )
}

/** `fields`: those that differ, where they are known. */
const mayDecide = (name: string, fields: readonly string[]): boolean =>
  fields.length === 0 ||
  !/^(distribution|key-group)\//.test(name) ||
  fields.some(field => !closedFields.includes(field))

function Named({ why, names }: { why: string; names: readonly string[] }) {
  const more = names.length - namesShownMax
  return (
    <>
      <Text size="sm">{why}</Text>
      <List size="sm" style={{ overflowWrap: 'anywhere' }}>
        {names.slice(0, namesShownMax).map(name => (
          <List.Item key={name}>{name}</List.Item>
        ))}
        {more > 0 && <List.Item>{texts.accessRules.moreOpenings(more)}</List.Item>}
      </List>
    </>
  )
}

/** The configuration may be written either way. */
async function typeOf(kind: Kind, file: File): Promise<string> {
  if (kind === 'cluster') return 'application/zip'
  return (await file.slice(0, 64).text()).trimStart().startsWith('{') ? 'application/json' : 'text/plain'
}

function Changes({ result }: { result: Result }) {
  const { dryRun, bucketsCreated, created = [], changed = [], fields = {}, removed, ...counts } = result
  const withFields = (name: string) => (fields[name] === undefined ? name : `${name} (${fields[name].join(', ')})`)
  const changes = [
    [words.created, bucketsCreated],
    [words.documentsCreated, created],
    [words.changed, changed.map(withFields)],
    [words.removed, removed],
  ] as const
  const isSame = changes.every(([, names]) => names.length === 0)
  const documents = Object.values(counts.documents ?? {}).reduce((sum, count) => sum + count, 0)
  const contents = Object.entries({ ...counts, documents }).flatMap(([name, count]) => {
    const [one, many] = wordsOf(name)
    return count === 0 || one === undefined ? [] : [counted(Number(count), one, many)]
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
      </Text>
    </Alert>
  )
}

const wordsOf = (name: string): readonly string[] =>
  (words.counts as Readonly<Record<string, readonly string[]>>)[name] ?? []
