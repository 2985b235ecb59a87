/** Exports of settings, and imports that are shown as what would change before they do. */
import { Alert, Button, Group, List, Text } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { call, urlOf } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { problemAt } from '../../api/problem.ts'
import { useMay } from '../../app/signed-in.ts'
import { useAskFirst } from '../../parts/ask-first.tsx'
import { Facts } from '../../parts/facts.tsx'
import { ImportForm } from '../../parts/import-form.tsx'
import { Section } from '../../parts/section.tsx'
import { accessRuleTexts } from '../../texts/access-rules.ts'
import { counted } from '../../texts/counted.ts'
import { toolTexts } from '../../texts/tools.ts'
import { questionsOf } from './import-questions.ts'

const words = toolTexts

const namesShownMax = 10

type Kind = keyof typeof words.kinds
type Result = Answer<'importCluster'>

const download = (href: string, label: string) => (
  <Button component="a" href={href} download variant="default" leftSection={<IconDownload size={16} aria-hidden />}>
    {label}
  </Button>
)

export function Export() {
  const mayExport = useMay('admin:ExportCluster')
  const mayRead = useMay('admin:GetConfig')
  return (
    <Section title={words.exportTitle} hint={words.exportHint}>
      <Group gap="xs">
        {mayExport && download(urlOf('exportCluster'), words.exportCluster)}
        {mayRead && download(urlOf('exportConfig'), words.exportConfig)}
      </Group>
    </Section>
  )
}

export function Import() {
  const mayImport = useMay('admin:ImportCluster')
  const mayChange = useMay('admin:ConfigUpdate')
  const { cluster, config } = words.kinds
  const { ask, question } = useAskFirst()
  const confirm = async (result: Result): Promise<boolean> => {
    const { openings, admissions, losses } = questionsOf(result)
    if (openings.length + admissions.length + losses.length === 0) return true
    const withFields = fieldsAfter(result)
    const text = (
      <>
        {openings.length > 0 && <Named why={words.mayOpen} names={openings.map(withFields)} />}
        {admissions.length > 0 && <Named why={words.mayAdmit} names={admissions.map(withFields)} />}
        {losses.length > 0 && <Named why={words.mayLose} names={losses.map(withFields)} />}
      </>
    )
    const title = openings.length + admissions.length > 0 ? words.mayOpenTitle : words.mayLoseTitle
    return ask({ title, action: words.apply, text })
  }
  const kinds = { ...(mayImport && { cluster }), ...(mayChange && { config }) }
  if (!mayImport && !mayChange) return null
  return (
    <Section title={words.importTitle} hint={words.importHint}>
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
      {question}
    </Section>
  )
}

/** The fields that differ stand after the name of a document. */
const fieldsAfter =
  ({ fields = {} }: Result) =>
  (name: string) =>
    fields[name] === undefined ? name : `${name} (${fields[name].join(', ')})`

function Named({ why, names }: { why: string; names: readonly string[] }) {
  const more = names.length - namesShownMax
  return (
    <>
      <Text size="sm">{why}</Text>
      <List size="sm" style={{ overflowWrap: 'anywhere' }}>
        {names.slice(0, namesShownMax).map(name => (
          <List.Item key={name}>{name}</List.Item>
        ))}
        {more > 0 && <List.Item>{accessRuleTexts.moreOpenings(more)}</List.Item>}
      </List>
    </>
  )
}

/** The configuration may be written either way. Throws where the file is of the other type. */
async function typeOf(kind: Kind, file: File): Promise<string> {
  const begin = await file.slice(0, 64).text()
  const isZip = begin.startsWith('PK')
  if (isZip !== (kind === 'cluster')) throw problemAt('', isZip ? words.isZip : words.isNoZip)
  if (isZip) return 'application/zip'
  return begin.trimStart().startsWith('{') ? 'application/json' : 'text/plain'
}

function Changes({ result }: { result: Result }) {
  const { dryRun, bucketsCreated, created = [], changed = [], fields: _, removed, ...counts } = result
  const changes = [
    [words.created, bucketsCreated],
    [words.documentsCreated, created],
    [words.changed, changed.map(fieldsAfter(result))],
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
