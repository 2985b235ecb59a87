/** Copies or moves objects and folders, within a bucket or to another; of one object it may also be only the name. */
import { Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { call, idempotencyKey, newKey } from '../../api/client.ts'
import { atField, Problem, problemAt, problemOfNetwork, wordsOf } from '../../api/problem.ts'
import { withRetries } from '../../api/retries.ts'
import { useAskFirst } from '../../parts/ask-first.tsx'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { useIsGone } from '../../parts/gone.ts'
import { ProgressBar } from '../../parts/progress-bar.tsx'
import { useRights } from '../../parts/rights.ts'
import { sameKey } from '../../parts/same-key.ts'
import { Suggestions } from '../../parts/suggestions.tsx'
import { typedFolder } from '../../parts/typed-folder.ts'
import { keysBehind } from '../../parts/uploads/behind.ts'
import { existingKeys } from '../../parts/uploads/existing.ts'
import { texts } from '../../texts/index.ts'
import { etagAt } from './etag-at.ts'
import { bucketQuery, versioningOf } from './queries.ts'

const atOnce = 4

export interface Copied {
  readonly kind: 'folder' | 'object'
  /** The whole prefix or key. */
  readonly id: string
  readonly versionId?: string | undefined
}

export interface CopyEntriesProps {
  readonly bucket: string
  readonly entries: readonly Copied[]
  readonly onClose: () => void
  readonly onMoved: () => void
}

interface Step {
  readonly from: string
  /** Of what is copied, where it is known. */
  readonly etag?: string | undefined
  readonly versionId?: string | undefined
  readonly to: string
}

export function CopyEntries({ bucket, entries, onClose, onMoved }: CopyEntriesProps) {
  const queryClient = useQueryClient()
  const one = entries.length === 1 && entries[0]!.kind === 'object' ? entries[0] : undefined
  const [progress, setProgress] = useState<readonly [done: number, all: number]>()
  const [isStopped, setStopped] = useState(false)
  /** At once, for what runs already. */
  const stopped = useRef(false)
  const stop = (isSo: boolean) => {
    stopped.current = isSo
    setStopped(isSo)
  }
  const [isCut, setCut] = useState(false)
  // Nobody waits any more: what the server does not get now, it does not get in an hour.
  const [closed] = useState(() => new AbortController())
  const isClosed = useIsGone()
  const isAway = useRef(false)
  // What is under way goes on. While the server is away there is nothing under way.
  useEffect(
    () => () => {
      if (isAway.current) closed.abort()
    },
    [closed],
  )
  const tellAway = (isSo: boolean) => {
    isAway.current = isSo
    if (isSo && isClosed.current) closed.abort()
    setCut(isSo)
  }
  const untilItArrives: UntilItArrives = async work => {
    if (closed.signal.aborted) throw problemOfNetwork()
    const result = await withRetries(closed.signal, work, async () => tellAway(true))
    tellAway(false)
    return result
  }
  const presentIn = async (place: string, steps: readonly Step[]) => {
    const keys = steps.map(({ to }) => to)
    const present = await existingKeys(place, keys, closed.signal, () => tellAway(true)).catch(error => {
      throw inForm(error)
    })
    tellAway(false)
    return present
  }
  /** The first of the keys behind which there is what nobody sees in a list, and would be gone. */
  const findBehind = async (place: string, keys: readonly string[]) => {
    const versioning = await untilItArrives(() => versioningOf(queryClient, place))
    if (versioning === 'enabled' || versioning === 'off') return undefined
    const found = await keysBehind(place, keys, closed.signal, () => tellAway(true)).catch(error => {
      throw inForm(error)
    })
    tellAway(false)
    const [key] = found
    return key === undefined ? undefined : { key, count: found.size, isKnown: versioning !== undefined }
  }
  const mayMove = useRights(bucket, one?.id ?? '').has('s3:DeleteObject') && one?.versionId === undefined
  const isLocked = useQuery(bucketQuery(bucket)).data?.objectLockEnabled === true
  const buckets = useQuery({
    queryKey: ['buckets', 'names'],
    queryFn: async ({ signal }) =>
      (await call('listBuckets', { query: { limit: 200 }, signal })).items.map(({ name }) => name),
  })
  const { ask, question } = useAskFirst()
  const form = useForm({
    initialValues: { bucket, place: one?.id ?? folderOf(entries[0]?.id ?? ''), move: false, overwrite: false },
  })
  const { bucket: target, place, move, overwrite } = form.values
  const run = async () => {
    const steps =
      one === undefined
        ? await stepsOf(bucket, entries, place, untilItArrives)
        : [{ ...one, from: one.id, to: newKeyOf(one.id, place) }]
    if (
      target === bucket &&
      steps.some(({ from, to, versionId }) => sameKey(from) === sameKey(to) && versionId === undefined)
    ) {
      throw problemAt('/place', texts.objects.sameKey)
    }
    // A folder, and something in it that was found by its name.
    if (new Set(steps.map(({ from }) => from)).size < steps.length) throw problemAt('/place', texts.objects.chosenTwice)
    // Of entries found in different folders.
    if (new Set(steps.map(({ to }) => sameKey(to))).size < steps.length)
      throw problemAt('/place', texts.objects.sameNames)
    const [moved, taken] = await Promise.all([
      move
        ? findBehind(
            bucket,
            steps.map(({ from }) => from),
          )
        : undefined,
      findBehind(
        target,
        steps.map(({ to }) => to),
      ),
    ])
    if (moved !== undefined) throw problemAt('/move', texts.objects.movedBehind(moved.key, moved.isKnown))
    if (taken !== undefined && !overwrite)
      throw problemAt('/place', texts.objects.keyTakenBehind(taken.key, taken.isKnown))
    // The box is ticked for what the list shows.
    if (taken !== undefined && !(await ask(questionOf(taken)))) return 'declined' as const
    stop(false)
    // Before the first is done, it can be stopped.
    if (steps.length > 1) setProgress([0, steps.length])
    let left: string | undefined
    try {
      const onStep = (done: number) => setProgress([done, steps.length])
      const isWanted = () => !stopped.current
      left = await copyAll({ bucket, target, move, overwrite, steps, onStep, isWanted, untilItArrives, presentIn })
    } finally {
      setProgress(undefined)
      await queryClient.invalidateQueries({ queryKey: ['objects'] })
      await queryClient.invalidateQueries({ queryKey: ['object'] })
    }
    if (left === undefined) notifications.show({ color: 'teal', message: texts.objects.copied(steps.length) })
    else notifications.show({ color: 'orange', message: left, autoClose: false })
    if (move) onMoved()
    return 'told' as const
  }
  return (
    <FormDialog
      form={{
        setErrors: ({ key, ...errors }) => form.setErrors({ ...errors, ...(key !== undefined && { place: key }) }),
        isDirty: () => form.isDirty(),
      }}
      title={one === undefined ? texts.objects.copyTitle(entries.length) : texts.objects.copyOne(one.id)}
      submit={texts.objects.copy}
      // Whatever has ended it: nothing goes on.
      onSubmit={() => run().finally(() => tellAway(false))}
      onClose={onClose}
      held={isCut ? texts.objects.copyEnd(move) : undefined}
      progress={
        <>
          {progress !== undefined && (
            <Stack gap={4}>
              <Text size="sm" aria-live="polite">
                {texts.objects.copying(...progress)}
              </Text>
              <ProgressBar
                value={(progress[0] / Math.max(1, progress[1])) * 100}
                aria-label={texts.objects.copying(...progress)}
              />
              {progress[1] > 1 && (
                <Group>
                  <Button size="compact-sm" variant="default" disabled={isStopped} onClick={() => stop(true)}>
                    {texts.objects.stopCopying}
                  </Button>
                </Group>
              )}
            </Stack>
          )}
          <div aria-live="polite">{isCut && <Text size="sm">{texts.objects.copyCut}</Text>}</div>
        </>
      }
    >
      <Suggestions
        label={texts.objects.toBucket}
        data={buckets.data ?? []}
        required
        {...form.getInputProps('bucket')}
      />
      <TextInput
        label={one === undefined ? texts.objects.toFolder : texts.objects.toKey}
        description={one === undefined ? texts.objects.toFolderHint : texts.objects.toKeyHint}
        required={one !== undefined}
        data-autofocus
        {...form.getInputProps('place')}
      />
      {mayMove && (
        <Checkbox
          label={texts.objects.move}
          description={isLocked ? texts.objects.moveLocked : undefined}
          {...form.getInputProps('move', { type: 'checkbox' })}
        />
      )}
      <Checkbox label={texts.objects.overwrite} {...form.getInputProps('overwrite', { type: 'checkbox' })} />
      {question}
    </FormDialog>
  )
}

interface Behind {
  /** The first of them. */
  readonly key: string
  readonly count: number
  /** That keeping versions is suspended. */
  readonly isKnown: boolean
}

const questionOf = ({ key, count, isKnown }: Behind) => ({
  title: texts.objects.replaceBehindTitle,
  action: texts.objects.replaceBehind,
  text: <Text size="sm">{texts.objects.takenBehind(key, count, isKnown)}</Text>,
})

/** `a/b/` of `a/b/c` and of `a/b/c/`. */
function folderOf(id: string): string {
  return id.slice(0, id.replace(/\/$/, '').lastIndexOf('/') + 1)
}

/** What ends with a slash is a folder, and the name stays; but the object of a folder is renamed with its slash. */
function newKeyOf(key: string, place: string): string {
  if (!place.endsWith('/') || key.endsWith('/')) return place
  const parent = folderOf(key)
  return typedFolder(place, parent) + key.slice(parent.length)
}

/** Sends it until the server has got it. */
type UntilItArrives = <T>(work: () => Promise<T>) => Promise<T>

/** Folders with everything in them, under their own names in the new place. */
async function stepsOf(
  bucket: string,
  entries: readonly Copied[],
  place: string,
  untilItArrives: UntilItArrives,
): Promise<Step[]> {
  const folder = typedFolder(place, entries[0]?.id)
  const steps: Step[] = []
  for (const { kind, id } of entries) {
    const parent = folderOf(id)
    if (kind === 'object') {
      steps.push({ from: id, to: folder + id.slice(parent.length) })
      continue
    }
    let cursor = ''
    do {
      const query = { prefix: id, delimiter: '', cursor }
      const page = await untilItArrives(() => call('listObjects', { params: { bucket }, query }))
      for (const { key, etag } of page.objects) steps.push({ from: key, etag, to: folder + key.slice(parent.length) })
      cursor = page.nextCursor
    } while (cursor !== '')
  }
  return steps
}

interface CopyAllOptions {
  readonly bucket: string
  readonly target: string
  readonly move: boolean
  readonly overwrite: boolean
  readonly steps: readonly Step[]
  readonly onStep: (done: number) => void
  /** Asked before each step. */
  readonly isWanted: () => boolean
  readonly untilItArrives: UntilItArrives
  /** ETags of what stands in the places of the steps. */
  readonly presentIn: (bucket: string, steps: readonly Step[]) => Promise<ReadonlyMap<string, string>>
}

/**
 * A few at a time. Goes on after a failure, and throws in the end; what was done, in words, where it was stopped. Where one goes to the place
 * of another, as in a folder that is copied into itself, the other goes first: nobody would have it any more.
 */
async function copyAll({
  bucket,
  target,
  move,
  overwrite,
  steps,
  onStep,
  isWanted,
  untilItArrives,
  presentIn,
}: CopyAllOptions): Promise<string | undefined> {
  const failures: string[] = []
  let last: unknown
  let done = 0
  const ordered = target === bucket ? inOrder(steps) : steps
  const present = overwrite ? await presentIn(target, steps) : new Map<string, string>()
  /** Whether it has gone, by its key. */
  const gone = new Map<string, Promise<boolean>>()
  const copy = async (step: Step): Promise<boolean> => {
    try {
      if (target === bucket && (await gone.get(sameKey(step.to))) === false)
        throw new Error(texts.objects.placeNotFree(step.to))
      // Those that were to go have gone.
      const place = {
        replaced: move && target === bucket && gone.has(sameKey(step.to)) ? undefined : present.get(step.to),
      }
      await copyOne({ bucket, target, move, overwrite, untilItArrives }, { ...step, ...place })
      return true
    } catch (error) {
      last = error
      failures.push(`${step.from}: ${reasonOf(error)}`)
      return false
    } finally {
      onStep(++done)
    }
  }
  let next = 0
  const work = async () => {
    for (let step = ordered[next++]; step !== undefined && isWanted(); step = ordered[next++]) {
      const copying = copy(step)
      gone.set(sameKey(step.from), copying)
      await copying
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  // Of one object the server's words stand at the field; so do those of a bucket, which are the same for all.
  const isOfBucket = last instanceof Problem && ['bucket_not_found', 'uri_too_long'].includes(last.code)
  if (failures.length > 0 && (steps.length === 1 || isOfBucket)) throw inForm(last)
  const failed = failures.length > 0 ? [texts.objects.copyFailed(failures.length, failures[0]!)] : []
  if (done < steps.length) return [texts.objects.copyStopped(done - failures.length, steps.length), ...failed].join(' ')
  if (failed.length > 0) throw new Error(failed[0])
  return undefined
}

/**
 * Names what is copied and what is replaced, as it is now: an answer may be lost, and what is sent again meets what somebody else has stored
 * since.
 */
async function copyOne(
  {
    bucket,
    target,
    move,
    overwrite,
    untilItArrives,
  }: Omit<CopyAllOptions, 'steps' | 'onStep' | 'isWanted' | 'presentIn'>,
  { from, versionId, to, replaced, ...known }: Step & { readonly replaced: string | undefined },
): Promise<void> {
  const etag = known.etag ?? (await untilItArrives(() => etagAt(bucket, from, versionId)))
  const source = { bucket, key: from, ...(versionId !== undefined && { versionId }), ...(etag != null && { etag }) }
  // One change, however often it is sent: the browser itself does so where an answer is lost.
  const once = { [idempotencyKey]: newKey() }
  let isLost = false
  const send = (isBlind = false) =>
    untilItArrives(async () => {
      const body = { source, key: to, move, overwrite: isBlind || replaced !== undefined }
      const headers = { ...once, ...(!isBlind && replaced !== undefined && { 'if-match': `"${replaced}"` }) }
      try {
        await call('copyObject', { params: { bucket: target }, body, headers })
      } catch (error) {
        if (error instanceof Problem && error.status === 0) isLost = true
        throw error
      }
    })
  try {
    await send()
  } catch (error) {
    // Whoever may not read what is there names nothing, and replaces it as every program does.
    const mayBeHidden = error instanceof Problem && error.status === 403 && replaced !== undefined
    if (mayBeHidden && !isLost) return send(true)
    const isOfEarlier = isLost && error instanceof Problem && [0, 404, 409, 412].includes(error.status)
    if (!isOfEarlier && !isTaken(error)) throw error
    const [of, at] = [await etagAt(bucket, from, versionId), await etagAt(target, to)]
    // It was done perhaps, and the answer lost.
    if (isLost && etag != null && at === etag && (!move || of === null)) return
    if (isLost) throw new Error(texts.objects.copyUnknown)
    if (overwrite && at === undefined) return send(true)
    if (etag != null && of !== etag) throw new Error(texts.objects.changedBefore(from))
    throw overwrite ? new Error(texts.objects.changedBefore(to)) : error
  }
}

/** Each behind the one whose place it takes. */
function inOrder(steps: readonly Step[]): readonly Step[] {
  const bySource = new Map(steps.map(step => [sameKey(step.from), step]))
  const ordered = new Set<Step>()
  for (const step of steps) {
    const chain: Step[] = []
    let at: Step | undefined = step
    while (at !== undefined && !ordered.has(at) && !chain.includes(at)) {
      chain.push(at)
      at = bySource.get(sameKey(at.to))
    }
    for (const one of chain.reverse()) ordered.add(one)
  }
  return [...ordered]
}

/** The server's conditions are those of programs. */
const isTaken = (error: unknown): boolean => error instanceof Problem && error.code === 'precondition_failed'

function reasonOf(error: unknown): string {
  return isTaken(error) ? texts.objects.keyTaken : wordsOf(error)
}

function inForm(error: unknown): unknown {
  if (isTaken(error)) return problemAt('/place', texts.objects.keyTaken)
  const atPlace = ['invalid_object_key', 'invalid_argument'].reduce<unknown>(
    (given, code) => atField(given, code, '/place'),
    error,
  )
  return atField(atField(atPlace, 'bucket_not_found', '/bucket'), 'uri_too_long', '/bucket')
}
