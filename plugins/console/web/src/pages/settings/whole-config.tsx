/** All settings as one document, replaced at once when the differences have been looked at. */
import { Alert, Button, Code, Group, Stack, Table, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { asRead, call, callTagged, type Tagged } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Problem } from '../../api/problem.ts'
import { useAskFirst } from '../../parts/ask-first.tsx'
import { Conflict } from '../../parts/conflict.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { Findings } from '../../parts/findings.tsx'
import { FormModal } from '../../parts/form-modal.tsx'
import { type Finding, JsonEditor } from '../../parts/json-editor.tsx'
import { JsonMistake, placeOf, readJson } from '../../parts/json-places.ts'
import { Name } from '../../parts/name.tsx'
import { Reasons } from '../../parts/question.tsx'
import { SentFields } from '../../parts/sent-fields.tsx'
import { StoredDocument } from '../../parts/stored-document.tsx'
import { Unsaved } from '../../parts/unsaved.tsx'
import { texts } from '../../texts/index.ts'
import { blocksPublic, opensEverywhere } from './block-public-everywhere.tsx'
import { lockOut, locksConsoleOut } from './console-limits.tsx'
import type { Values } from './settings.tsx'

const words = texts.settings

type Config = Readonly<Record<string, Values>>

/** What was looked at, and what of it the server would store. */
interface Wanted {
  readonly config: Config
  readonly differences: readonly Difference[]
}

interface Difference {
  readonly setting: string
  readonly before: string | undefined
  readonly after: string | undefined
}

export function WholeConfig({ onClose }: { onClose: () => void }) {
  const load = async (signal: AbortSignal): Promise<Tagged<Config>> => {
    const { document, etag } = await callTagged('getConfig', { signal })
    return { document: document as Config, etag }
  }
  return (
    <FormModal title={words.wholeTitle} size="xl" onClose={onClose}>
      {() => (
        <StoredDocument queryKey={['config', 'whole']} load={load}>
          {(stored, reload) => <Form stored={stored} onReload={reload} onClose={onClose} />}
        </StoredDocument>
      )}
    </FormModal>
  )
}

interface FormProps {
  readonly stored: Tagged<Config>
  readonly onReload: () => Promise<boolean>
  readonly onClose: () => void
}

function Form({ stored: { document: stored, etag }, onReload, onClose }: FormProps) {
  const queryClient = useQueryClient()
  const [initial] = useState(() => JSON.stringify(stored, undefined, 2))
  const [text, setText] = useState(initial)
  const [wanted, setWanted] = useState<Wanted>()
  const looking = useMutation({
    async mutationFn(text: string) {
      const config = readJson(text) as Config
      // The server refuses before anything is shown that it would refuse.
      const result = await call('importConfig', { query: { mode: 'replace', dryRun: true }, body: config })
      return { config, differences: differencesOf(stored, config, result) }
    },
    onSuccess: setWanted,
  })
  const saving = useMutation({
    mutationFn: (config: Config) => call('replaceConfig', { body: config, ...asRead(etag) }),
    async onSuccess() {
      notifications.show({ color: 'teal', message: texts.common.saved })
      await queryClient.invalidateQueries()
      onClose()
    },
  })
  const { ask, question } = useAskFirst()
  const apply = async (config: Config) => {
    const opens = blocksPublic('access', stored.access) && !blocksPublic('access', config.access)
    if (opens && !(await ask(opensEverywhere))) return
    if (locksConsoleOut('ratelimit', stored.ratelimit, config.ratelimit) && !(await ask(lockOut))) return
    saving.mutate(config)
  }
  const failure = looking.error ?? saving.error
  const findings = useMemo(() => findingsOf(failure, looking.variables ?? ''), [failure, looking.variables])
  const type = (next: string) => {
    setText(next)
    // What was found stood in the text before.
    looking.reset()
    if (findings.length > 0) saving.reset()
  }
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {words.wholeHint}
      </Text>
      {looking.error !== null && findings.length === 0 && <ProblemAlert error={looking.error} />}
      <Conflict error={saving.error} onLoad={onReload} />
      {wanted === undefined ? (
        <>
          <SentFields isSending={looking.isPending}>
            <JsonEditor label={words.wholeLabel} value={text} onChange={type} findings={findings} leadsToFindings />
          </SentFields>
          <Stack gap="xs" role="alert">
            <Findings findings={findings} />
          </Stack>
        </>
      ) : (
        <Differences differences={wanted.differences} />
      )}
      <Unsaved isDirty={text !== initial && !saving.isSuccess} isQuiet />
      <Group justify="flex-end" className="dialog-buttons">
        {wanted === undefined ? (
          <Button onClick={() => looking.mutate(text)} loading={looking.isPending}>
            {words.look}
          </Button>
        ) : (
          <>
            <Button variant="default" disabled={saving.isPending} onClick={() => setWanted(undefined)}>
              {words.backToText}
            </Button>
            <Button
              loading={saving.isPending}
              disabled={wanted.differences.length === 0}
              onClick={() => apply(wanted.config)}
            >
              {words.apply}
            </Button>
          </>
        )}
      </Group>
      {question}
    </Stack>
  )
}

/** What was sent stands at its lines: the server names a key of a subsystem as `notify_webhook:name.endpoint`. */
function findingsOf(error: unknown, text: string): readonly Finding[] {
  if (error instanceof JsonMistake) return [{ ...error.place, message: error.message, isError: true }]
  if (!(error instanceof Problem)) return []
  return error.fields
    .filter(({ field }) => field !== '')
    .map(({ field, message }) => {
      const path = field.replace(/^\//, '').split(/[./]/)
      return { ...placeOf(text, path), message: `${path.join('.')} ${message}`, isError: true }
    })
}

/** What the server names: a default that is written out and one that is left out do not differ. */
function differencesOf(
  stored: Config,
  wanted: Config,
  { fields }: Pick<Answer<'importConfig'>, 'fields'>,
): Difference[] {
  const subsystems = new Set([...Object.keys(stored), ...Object.keys(wanted)])
  return [...subsystems].sort().flatMap(name => {
    const before = stored[name] ?? {}
    const after = wanted[name] ?? {}
    return (fields?.[`config/${name}`] ?? []).map(key => ({
      setting: `${name} ${key}`,
      before: before[key],
      after: after[key],
    }))
  })
}

function Differences({ differences }: { differences: readonly Difference[] }) {
  return (
    <>
      <Alert color="blue" role="status">
        {words.changes(differences.length)}
      </Alert>
      {differences.length > 0 && (
        <Reasons label={words.wholeTitle} heads={[words.key, words.before, words.after]}>
          {differences.map(({ setting, before, after }) => (
            <Table.Tr key={setting}>
              <Table.Td>
                <Name>{setting}</Name>
              </Table.Td>
              <Table.Td>
                <Value text={before} />
              </Table.Td>
              <Table.Td>
                <Value text={after} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Reasons>
      )}
    </>
  )
}

const Value = ({ text }: { text: string | undefined }) =>
  text === undefined ? (
    words.isDefault
  ) : (
    <Code style={{ overflowWrap: 'anywhere' }}>
      <Name>{text}</Name>
    </Code>
  )
