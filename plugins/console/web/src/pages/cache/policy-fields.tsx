/** The fields of a policy, or of a level that changes single ones: in sections, each empty where it is inherited. */
import { Accordion, NativeSelect, SimpleGrid, Text, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { InheritableText } from '../../parts/inheritable.tsx'
import { useOpenedSections } from '../../parts/opened-sections.ts'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'
import {
  changedIn,
  type FieldKind,
  type FieldPath,
  fieldsOf,
  type LevelDraft,
  sections,
  textOf,
  valueAt,
} from './fields.ts'
import { InheritableNames } from './inheritable-names.tsx'

const words = cacheTexts.cachePolicies

/** The part of a form that fields use, whatever its document is. */
export interface FieldsForm {
  readonly errors: Readonly<Record<string, ReactNode>>
  // biome-ignore lint/suspicious/noExplicitAny: the properties of an input of any kind, as the form gives them
  getInputProps(path: string, options?: { type?: 'input' | 'checkbox' }): any
  // biome-ignore lint/suspicious/noExplicitAny: as above
  setFieldValue(path: any, value: any): void
}

export interface PolicyFieldsProps {
  readonly form: FieldsForm
  /** Path of the fields in the form, such as `cache`; empty for its root. */
  readonly path: string
  readonly draft: LevelDraft
  /** A policy with every field: what is in force where this one says nothing. */
  readonly inherited?: object
  readonly isReadOnly?: boolean
}

export function PolicyFields({ form, path, draft, inherited, isReadOnly = false }: PolicyFieldsProps) {
  const pathOf = (name: string) => (path === '' ? name : `${path}.${name}`)
  const paths = Object.fromEntries(
    sections.map(section => [section, fieldsOf(section).map(([name]) => pathOf(name))] as const),
  )
  const opened = useOpenedSections(paths, form.errors)
  return (
    <Accordion variant="contained" multiple keepMounted={false} order={3} {...opened}>
      {sections.map(section => (
        <Accordion.Item key={section} value={section}>
          <Accordion.Control>
            {words.sections[section]}
            <Text span size="xs" c="dimmed" ml="xs">
              {cacheTexts.cacheSettings.changedFields(changedIn(draft, section))}
            </Text>
          </Accordion.Control>
          <Accordion.Panel>
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
              {fieldsOf(section).map(([name, kind]) => (
                <Field
                  key={name}
                  form={form}
                  name={name}
                  kind={kind}
                  path={pathOf(name)}
                  inherited={inherited && valueAt(inherited, name)}
                  isReadOnly={isReadOnly}
                />
              ))}
            </SimpleGrid>
          </Accordion.Panel>
        </Accordion.Item>
      ))}
    </Accordion>
  )
}

interface FieldProps {
  readonly form: FieldsForm
  readonly name: FieldPath
  readonly kind: FieldKind
  readonly path: string
  readonly inherited: unknown
  readonly isReadOnly: boolean
}

const hints: Partial<Record<FieldKind, string>> = { duration: texts.cache.durationHint, size: texts.cache.sizeHint }

function Field({ form, name, kind, path, inherited, isReadOnly }: FieldProps) {
  const label = words.fields[name]
  const hint = words.fieldHints[name] ?? hints[kind]
  const { value, ...props } = form.getInputProps(path)
  const placeholder = inherited === undefined ? texts.cache.inherited : placeholderOf(kind, inherited)
  if (kind === 'switch') {
    const labels = { '': placeholder, true: texts.cache.yes, false: texts.cache.no }
    const data = Object.entries(labels).map(([each, text]) => ({ value: each, label: text }))
    return <NativeSelect label={label} data={data} value={value ?? ''} {...props} disabled={isReadOnly} />
  }
  if (kind === 'names') {
    return (
      <InheritableNames
        label={label}
        placeholder={placeholder}
        value={value ?? null}
        error={props.error}
        onChange={next => form.setFieldValue(path, next)}
        isReadOnly={isReadOnly}
      />
    )
  }
  if (kind === 'textOrNone') {
    return (
      <InheritableText
        label={label}
        placeholder={placeholder}
        noneLabel={words.ofObject}
        value={value ?? null}
        error={props.error}
        onChange={next => form.setFieldValue(path, next)}
        isReadOnly={isReadOnly}
      />
    )
  }
  return (
    <TextInput
      label={label}
      placeholder={placeholder}
      {...(hint !== undefined && { description: hint })}
      value={value ?? ''}
      {...props}
      readOnly={isReadOnly}
    />
  )
}

function placeholderOf(kind: FieldKind, inherited: unknown): string {
  const isEmpty = inherited === '' || (Array.isArray(inherited) && inherited.length === 0)
  const text = isEmpty
    ? cacheTexts.cacheInspect.nothing
    : kind === 'switch'
      ? yesOrNo(inherited)
      : textOf(kind, inherited)
  return `${text} (${texts.cache.inherited})`
}

const yesOrNo = (value: unknown): string => (value === true ? texts.cache.yes : texts.cache.no)
