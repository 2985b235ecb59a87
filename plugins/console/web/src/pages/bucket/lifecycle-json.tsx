/** All rules as text: for what is pasted, and for many rules at once. */
import { Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { Problem } from '../../api/problem.ts'
import { Conflict, isConflict } from '../../parts/conflict.tsx'
import { Findings } from '../../parts/findings.tsx'
import { type Finding, JsonEditor } from '../../parts/json-editor.tsx'
import { JsonMistake, placeOf, readJson } from '../../parts/json-places.ts'
import { SaveBar } from '../../parts/save-bar.tsx'
import { SentFields } from '../../parts/sent-fields.tsx'
import { Unsaved } from '../../parts/unsaved.tsx'
import { lifecycleTexts } from '../../texts/lifecycle.ts'
import type { LifecycleRules } from './lifecycle.tsx'
import { LifecyclePreview } from './lifecycle-preview.tsx'

export interface LifecycleJsonProps {
  readonly bucket: string
  readonly label: string
  readonly rules: LifecycleRules
  /** Resolves with `declined` if they were not saved after all. */
  readonly onSave: (rules: LifecycleRules) => Promise<'declined' | undefined>
  /** Told whether something is typed that is not saved. */
  readonly onTyped: (isTyped: boolean) => void
  readonly onChanged: () => Promise<boolean>
}

export function LifecycleJson({ bucket, label, rules, onSave, onTyped, onChanged }: LifecycleJsonProps) {
  const stored = JSON.stringify(rules, undefined, 2)
  const [text, setText] = useState(stored)
  /** In the layout in which it was typed. */
  const [saved, setSaved] = useState(stored)
  const isTyped = text !== saved
  useEffect(() => {
    onTyped(isTyped)
    return () => onTyped(false)
  }, [isTyped, onTyped])
  const saving = useMutation({
    mutationFn: (given: string) => onSave(parsed(given)),
    async onSuccess(outcome, given) {
      if (outcome === 'declined') return
      await onChanged()
      setSaved(given)
    },
  })
  const { error } = saving
  /** Why the rules could not be counted. */
  const [uncounted, setUncounted] = useState<unknown>()
  const discarding = useMutation({
    async mutationFn() {
      if (isConflict(error) && !(await onChanged())) return
      setText(saved)
      setUncounted(undefined)
      saving.reset()
    },
  })
  const isBusy = saving.isPending || discarding.isPending
  const ofSaving = useMemo(() => findingsOf(error, text), [error, text])
  const ofCounting = useMemo(() => findingsOf(uncounted, text), [uncounted, text])
  const findings = ofSaving.length > 0 ? ofSaving : ofCounting
  const type = (next: string) => {
    setText(next)
    // What was found stood in the text before. A conflict stays: it is not of the text.
    setUncounted(undefined)
    if (!isConflict(error)) saving.reset()
  }
  return (
    <Stack>
      {ofSaving.length === 0 && <Conflict error={error} onLoad={onChanged} />}
      <SentFields isSending={isBusy}>
        <JsonEditor label={label} value={text} onChange={type} findings={findings} leadsToFindings />
      </SentFields>
      <Stack gap="xs" role="alert">
        <Findings findings={findings} />
      </Stack>
      <Unsaved isDirty={isTyped} isQuiet />
      {isTyped && (
        <SaveBar isSaving={isBusy} onSave={() => saving.mutate(text)} onDiscard={() => discarding.mutate()} />
      )}
      {isTyped && (
        <LifecyclePreview
          key={text}
          bucket={bucket}
          label={lifecycleTexts.preview}
          rulesOf={() => parsed(text)}
          isDraft
          onRefused={setUncounted}
          isRefusalSaid={ofCounting.length > 0}
        />
      )}
    </Stack>
  )
}

function parsed(text: string): LifecycleRules {
  const rules = readJson(text)
  const isList =
    Array.isArray(rules) && rules.every(rule => typeof rule === 'object' && rule !== null && !Array.isArray(rule))
  if (!isList) throw new JsonMistake(lifecycleTexts.notList, { line: 1, column: 1 })
  return rules
}

const ofRules = /^(?:\/draft)?\/rules(?:\/|$)/

/** The text is the list that the body has as `rules`, or within `draft`. */
function findingsOf(error: unknown, text: string): readonly Finding[] {
  if (error instanceof JsonMistake) return [{ ...error.place, message: error.message, isError: true }]
  if (!(error instanceof Problem)) return []
  return error.fields
    .filter(({ field }) => ofRules.test(field))
    .map(({ field, message }) => {
      const path = field.replace(ofRules, '').split('/').filter(Boolean)
      const within = path.slice(1).join('.')
      return { ...placeOf(text, path), message: within === '' ? message : `${within}: ${message}`, isError: true }
    })
}
