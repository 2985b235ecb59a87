/** JSON with colours and line numbers; what the server finds wrong is underlined at its place. */

import type { CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import { json } from '@codemirror/lang-json'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint'
import { EditorState, type Extension } from '@codemirror/state'
import { tags } from '@lezer/highlight'
import { Box, InputLabel } from '@mantine/core'
import { basicSetup, EditorView } from 'codemirror'
import { useEffect, useId, useLayoutEffect, useRef } from 'react'
import { flushSync } from 'react-dom'
import { styleNonce } from './style-nonce.ts'

export interface Finding {
  /** From 1. */
  readonly line: number
  readonly column: number
  readonly message: string
  readonly isError: boolean
}

export interface JsonEditorProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly findings?: readonly Finding[]
  /** Somebody has asked for the findings: the first is brought into view, and typing goes on there. */
  readonly leadsToFindings?: boolean
  readonly isReadOnly?: boolean
  /** What may stand at a place of the text, offered while one types. */
  readonly complete?: (text: string, at: number) => CompletionResult | null
}

/** The colours are in styles.css, for each colour scheme. */
const highlighting = syntaxHighlighting(
  HighlightStyle.define([
    { tag: [tags.string, tags.special(tags.string)], color: 'var(--json-string)' },
    { tag: [tags.number, tags.bool, tags.null], color: 'var(--json-value)' },
    { tag: tags.propertyName, color: 'var(--json-name)' },
  ]),
)

const isSearchKey = ({ key, ctrlKey, altKey, shiftKey }: KeyboardEvent): boolean =>
  key.toLowerCase() === 'k' && ctrlKey && !altKey && !shiftKey

const none: readonly Finding[] = []

export function JsonEditor(props: JsonEditorProps) {
  const { label, value, onChange, findings = none, isReadOnly = false, leadsToFindings = false, complete } = props
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const tell = useRef(onChange)
  tell.current = onChange
  const offer = useRef(complete)
  offer.current = complete
  const latest = useRef(value)
  latest.current = value
  const extensions = useRef<Extension>([])
  /** What a screen reader reads with the text. */
  const mistakes = useRef('')
  const id = useId()
  useEffect(() => {
    // One and the same source: what another one has answered is dropped.
    const languageData = [
      {
        autocomplete: ({ state, pos }: CompletionContext) => offer.current?.(state.doc.toString(), pos) ?? null,
      },
    ]
    extensions.current = [
      // It opens the search; on a Mac the editor would delete the rest of the line besides.
      EditorView.domEventHandlers({ keydown: isSearchKey }),
      basicSetup,
      json(),
      EditorState.languageData.of(() => languageData),
      highlighting,
      lintGutter(),
      EditorView.cspNonce.of(styleNonce),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of(() => ({
        'aria-labelledby': id,
        ...(mistakes.current !== '' && { 'aria-invalid': 'true', 'aria-description': mistakes.current }),
      })),
      EditorState.readOnly.of(isReadOnly),
      EditorView.updateListener.of(update => {
        // At once: whoever presses a button right after the last key means what stands here, not what was rendered before.
        if (update.docChanged) flushSync(() => tell.current(update.state.doc.toString()))
      }),
    ]
    const editor = new EditorView({
      parent: place.current!,
      state: EditorState.create({ doc: latest.current, extensions: extensions.current }),
    })
    editor.scrollDOM.tabIndex = 0
    view.current = editor
    return () => editor.destroy()
  }, [id, isReadOnly])
  // Another text than what stands here: what is stored was read again, or what was typed is discarded.
  useLayoutEffect(() => {
    const editor = view.current
    const text = EditorState.create({ doc: value }).doc
    if (editor === null || text.eq(editor.state.doc)) return
    const anchor = Math.min(editor.state.selection.main.head, text.length)
    // Without its history: to take back a typed letter must not bring back the text of before.
    editor.setState(EditorState.create({ doc: text, selection: { anchor }, extensions: extensions.current }))
  }, [value])
  // biome-ignore lint/correctness/useExhaustiveDependencies: when that changes the editor is another one
  useEffect(() => {
    const editor = view.current
    if (editor === null) return
    const diagnostics = diagnosticsOf(editor.state, findings)
    mistakes.current = findings.flatMap(({ message, isError }) => (isError ? [message] : [])).join(' ')
    editor.dispatch(setDiagnostics(editor.state, diagnostics))
    if (!leadsToFindings || diagnostics.length === 0) return
    const first = Math.min(...diagnostics.map(({ from }) => from))
    editor.dispatch({ selection: { anchor: first }, effects: EditorView.scrollIntoView(first, { y: 'center' }) })
    editor.focus()
  }, [findings, leadsToFindings, isReadOnly])
  return (
    <div>
      <InputLabel id={id}>{label}</InputLabel>
      <Box ref={place} className="json-editor" />
    </div>
  )
}

/** Places that are no more, because the text has changed since, are moved to its end. */
function diagnosticsOf(state: EditorState, findings: readonly Finding[]): Diagnostic[] {
  return findings.map(({ line, column, message, isError }) => {
    const { from, to } = state.doc.line(Math.min(Math.max(line, 1), state.doc.lines))
    const start = Math.min(from + Math.max(column - 1, 0), to)
    return { from: start, to, message, severity: isError ? 'error' : 'warning' }
  })
}
