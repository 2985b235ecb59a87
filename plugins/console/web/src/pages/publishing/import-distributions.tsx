/** Distributions from a file, with what would differ field by field. */
import { Alert, Code, Modal, Stack, Table, Text } from '@mantine/core'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Facts } from '../../parts/facts.tsx'
import { ImportForm } from '../../parts/import-form.tsx'
import { Name } from '../../parts/name.tsx'
import { Reasons } from '../../parts/question.tsx'
import { Warnings } from '../../parts/warnings.tsx'
import { accessRuleTexts } from '../../texts/access-rules.ts'
import { texts } from '../../texts/index.ts'
import type { OpenEffect } from '../access/open-effect.ts'
import { useOpenQuestion } from '../access/open-question.tsx'

const words = texts.distributionArchive
const opening = accessRuleTexts

type Result = Answer<'importDistributions'>

export function ImportDistributions({ onClose }: { onClose: () => void }) {
  const { ask, question } = useOpenQuestion()
  return (
    <Modal
      opened
      onClose={onClose}
      title={words.title}
      size="xl"
      closeButtonProps={{ 'aria-label': texts.common.close }}
    >
      <Stack>
        <Text size="sm" c="dimmed">
          {words.hint}
        </Text>
        <ImportForm
          kinds={{ yaml: '' }}
          replaceText={{ yaml: words.replaceText }}
          confirm={({ opened }: Result) => ask(opened.map(effectOf))}
          send={({ file, mode, dryRun }) =>
            call('importDistributions', {
              query: { mode, dryRun },
              raw: file.slice(0, file.size, 'application/yaml'),
            })
          }
        >
          {result => <Outcome result={result} />}
        </ImportForm>
        {question}
      </Stack>
    </Modal>
  )
}

function effectOf({ name, bucket, pathPrefix, aliases, mode }: Result['opened'][number]): OpenEffect {
  const objects = pathPrefix === '' ? opening.everyObjectOf(bucket) : opening.objectsBelow(pathPrefix)
  return {
    // Of an S3 endpoint the rights of the bucket decide.
    ...(mode === 's3'
      ? { verbs: opening.doWhat, objects: opening.whatBucketAllows(bucket) }
      : { verbs: opening.presetVerbs['public-read'], objects: opening.shownBy(name, objects) }),
    ...(aliases.length > 0 && { limits: opening.atDomains(new Intl.ListFormat('en').format(aliases)) }),
  }
}

function Outcome({ result }: { result: Result }) {
  const { dryRun, created, replaced, removed, unchanged, changes, warnings } = result
  const isSame = created.length + replaced.length + removed.length === 0
  const list = (label: string, items: Result['created']) =>
    [
      label,
      items.length === 0 ? '' : words.count(items.length, items.map(({ kind, name }) => `${kind} ${name}`).join(', ')),
    ] as const
  return (
    <Stack gap="sm">
      <Warnings warnings={warnings} />
      <Alert
        color={dryRun ? 'blue' : 'teal'}
        title={dryRun ? (isSame ? words.nothing : words.would) : words.did}
        role="status"
      >
        <Facts
          facts={[
            list(words.created, created),
            list(words.replaced, replaced),
            list(words.removed, removed),
            [words.unchanged, unchanged.length === 0 ? '' : String(unchanged.length)],
          ]}
        />
      </Alert>
      {changes.length > 0 && (
        <Reasons label={words.differences} heads={[texts.common.name, words.field, words.before, words.after]}>
          {changes.map(({ kind, name, element, before, after }) => (
            <Table.Tr key={`${kind} ${name} ${element}`}>
              <Table.Td>
                {kind} <Name>{name}</Name>
              </Table.Td>
              <Table.Td>{element}</Table.Td>
              <Table.Td>
                <Value of={before} />
              </Table.Td>
              <Table.Td>
                <Value of={after} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Reasons>
      )}
    </Stack>
  )
}

function Value({ of: value }: { of: unknown }) {
  if (value === undefined) return '–'
  return (
    <Code style={{ overflowWrap: 'anywhere' }}>
      <Name>{JSON.stringify(value)}</Name>
    </Code>
  )
}
