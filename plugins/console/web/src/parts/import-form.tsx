/** An import of a file: what it would change is shown before it changes anything. */
import { Alert, Button, Code, FileInput, Group, NativeSelect, SimpleGrid, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { type FieldProblem, Problem } from '../api/problem.ts'
import { texts } from '../texts/index.ts'
import { toolTexts } from '../texts/tools.ts'
import { choicesOf } from './choices.ts'
import { ConfirmDeletion } from './confirm-deletion.tsx'
import { notifyFailure, ProblemAlert } from './failure.tsx'
import { notifyDone, useIsGone } from './gone.ts'
import { SentFields } from './sent-fields.tsx'
import { underWay } from './under-way.ts'

const words = toolTexts

export interface ImportRequest<Kind extends string> {
  readonly file: File
  readonly kind: Kind
  readonly mode: keyof typeof words.modes
  /** Only looks. */
  readonly dryRun: boolean
}

export interface ImportFormProps<Kind extends string, Result> {
  /** What the file may be; one alone is not asked for. */
  readonly kinds: Readonly<Partial<Record<Kind, string>>>
  /** What the mode means that removes things. */
  readonly replaceText: Readonly<Record<Kind, string>>
  readonly send: (request: ImportRequest<Kind>) => Promise<Result>
  /** Resolves with whether what was looked at is to be done. */
  readonly confirm?: (result: Result) => Promise<boolean>
  readonly children: (result: Result) => ReactNode
}

export function ImportForm<Kind extends string, Result extends { readonly dryRun: boolean }>(
  props: ImportFormProps<Kind, Result>,
) {
  const { kinds, replaceText, send, confirm = async () => true, children } = props
  const names = Object.keys(kinds) as Kind[]
  const queryClient = useQueryClient()
  const [file, setFile] = useState<File | null>(null)
  const [kind, setKind] = useState<Kind>(names[0]!)
  const [mode, setMode] = useState<keyof typeof words.modes>('merge')
  /** What somebody is asked about. */
  const [asked, setAsked] = useState<Result>()
  const isGone = useIsGone()
  const sending = useMutation({
    /** `agreed`: what was looked at and is to be done; absent: to look. */
    async mutationFn(agreed?: Result) {
      await requireReadable(file!)
      const request = { file: file!, kind, mode }
      const looked = await send({ ...request, dryRun: true })
      if (agreed === undefined) return { result: looked, isOther: false }
      // Others may have changed something since: only what was shown is done.
      if (JSON.stringify(looked) !== JSON.stringify(agreed)) return { result: looked, isOther: true }
      return underWay(async () => {
        const result = await send({ ...request, dryRun: false })
        await queryClient.invalidateQueries()
        return { result, isOther: false }
      })
    },
    onSuccess({ result, isOther }) {
      if (isOther && isGone.current) notifyFailure(new Error(words.isOther), words.importTitle)
      else if (!result.dryRun && isGone.current) notifyDone(words.importTitle)
    },
    onError(error, agreed) {
      // A question that was confirmed tells it itself.
      if (agreed !== undefined && isGone.current && mode !== 'replace') notifyFailure(error, words.importTitle)
    },
  })
  const { result, isOther = false } = sending.data ?? {}
  const apply = async (looked: Result) => {
    if (!(await confirm(looked))) return
    if (mode === 'replace') setAsked(looked)
    else sending.mutate(looked)
  }
  const looked = result?.dryRun === true ? result : undefined
  const places = sending.error instanceof Problem ? sending.error.fields : []
  const choose = (change: () => void) => {
    change()
    sending.reset()
  }
  return (
    <Stack gap="sm">
      <SentFields gap="sm" isSending={sending.isPending}>
        <FileInput
          label={words.file}
          placeholder={words.chooseFile}
          value={file}
          clearable
          error={places.length > 0 ? <Places places={places} /> : undefined}
          clearButtonProps={{ 'aria-label': texts.common.remove }}
          onChange={chosen => choose(() => setFile(chosen))}
        />
        <SimpleGrid cols={{ base: 1, xs: names.length > 1 ? 2 : 1 }} spacing="sm">
          {names.length > 1 && (
            <NativeSelect
              label={words.kind}
              data={choicesOf(kinds as Record<Kind, string>)}
              value={kind}
              onChange={event => choose(() => setKind(event.currentTarget.value as Kind))}
            />
          )}
          <NativeSelect
            label={words.mode}
            data={choicesOf(words.modes)}
            value={mode}
            onChange={event => choose(() => setMode(event.currentTarget.value as keyof typeof words.modes))}
          />
        </SimpleGrid>
      </SentFields>
      <Group gap="xs">
        <Button
          variant="default"
          disabled={file === null}
          loading={sending.isPending}
          onClick={() => sending.mutate(undefined)}
        >
          {words.look}
        </Button>
        {looked !== undefined && <Button onClick={() => apply(looked)}>{words.apply}</Button>}
      </Group>
      {sending.error !== null && places.length === 0 && <ProblemAlert error={sending.error} />}
      {isOther && (
        <Alert color="orange" role="alert">
          {words.isOther}
        </Alert>
      )}
      {result !== undefined && children(result)}
      {asked !== undefined && (
        <ConfirmDeletion
          title={words.importTitle}
          action={words.apply}
          typed={words.modes.replace}
          onConfirm={async () => void (await sending.mutateAsync(asked))}
          onClose={() => setAsked(undefined)}
        >
          <Text size="sm">{replaceText[kind]}</Text>
        </ConfirmDeletion>
      )}
    </Stack>
  )
}

/** Browsers read a file as it was when it was chosen, or not at all: sent, it would look as if the server could not be reached. */
async function requireReadable(file: File): Promise<void> {
  try {
    await file.slice(0, 1).arrayBuffer()
  } catch {
    throw new Error(words.fileChanged)
  }
}

const placesShownMax = 20

/** What is wrong with the file, and where in it. */
function Places({ places }: { places: readonly FieldProblem[] }) {
  const shown = places.slice(0, placesShownMax)
  return (
    <Stack component="span" gap={4} role="alert">
      {shown.map(({ field, message }) => (
        <span key={`${field} ${message}`}>
          {field !== '' && <Code>{field}</Code>} {message}
        </span>
      ))}
      {places.length > shown.length && <span>{texts.problems.morePlaces(places.length - shown.length)}</span>}
    </Stack>
  )
}
