/** What a search finds: pages and settings at once, buckets, their folders and users as the server finds them. */
import { Combobox, type ComboboxStore, Text, TextInput, useCombobox } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useParams, useRouter } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { call } from '../api/client.ts'
import { Name } from '../parts/name.tsx'
import { texts } from '../texts/index.ts'
import { basePath } from './base-path.ts'
import { type BucketTab, bucketTabs } from './bucket-tabs.ts'
import { mayOpen, pageGroups } from './pages.ts'
import { useSignedIn } from './signed-in.ts'

const foundMax = 6
/** Folders and objects, of which the folders are shown. */
const foldersRead = 200

interface Hit {
  readonly label: string
  /** Below the place of the console. */
  readonly href: string
}

interface Group {
  readonly label: string
  readonly hits: readonly Hit[]
}

/** `bucket/beginning of a folder`. */
const inBucket = /^([^/]+)\/(.*)$/

export function SearchHits({ onDone }: { onDone: () => void }) {
  const [text, setText] = useState('')
  const input = useRef<HTMLInputElement>(null)
  // The dialog was there before this part of the page was loaded, and found nothing to give the focus to.
  useEffect(() => input.current?.focus(), [])
  const router = useRouter()
  const combobox = useCombobox({ opened: true })
  const groups = useHits(text.trim())
  useSelection(combobox, text, groups)
  const isEmpty = groups.every(({ hits }) => hits.length === 0)
  return (
    <Combobox
      store={combobox}
      withinPortal={false}
      onOptionSubmit={href => {
        onDone()
        router.history.push(basePath + href)
      }}
    >
      <Combobox.EventsTarget>
        <TextInput
          ref={input}
          data-autofocus
          aria-label={texts.search.label}
          placeholder={texts.search.placeholder}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={text}
          onChange={event => setText(event.currentTarget.value)}
          // The list of hits is always open, and keeps the key from the dialog.
          onKeyDown={event => {
            if (event.key === 'Escape') onDone()
          }}
        />
      </Combobox.EventsTarget>
      <Combobox.Options mt="xs">
        {isEmpty && <Combobox.Empty>{texts.search.nothing}</Combobox.Empty>}
        {groups
          .filter(({ hits }) => hits.length > 0)
          .map(({ label, hits }) => (
            <Combobox.Group key={label} label={label}>
              {hits.map(hit => (
                <Combobox.Option key={hit.href} value={hit.href}>
                  <Text size="sm">
                    <Name>{hit.label}</Name>
                  </Text>
                </Combobox.Option>
              ))}
            </Combobox.Group>
          ))}
      </Combobox.Options>
    </Combobox>
  )
}

/**
 * Selects the first hit when the text changes. Later answers keep the selection, so that Enter opens the hit that the user sees selected.
 */
function useSelection(combobox: ComboboxStore, text: string, groups: readonly Group[]) {
  const before = useRef<{ readonly text: string; readonly hrefs: readonly string[] }>({ text: '', hrefs: [] })
  useEffect(() => {
    const hrefs = groups.flatMap(({ hits }) => hits.map(({ href }) => href))
    if (text === before.current.text && hrefs.join(' ') === before.current.hrefs.join(' ')) return
    const selected = before.current.hrefs[combobox.getSelectedOptionIndex()]
    const isKept = text === before.current.text && selected !== undefined && hrefs.includes(selected)
    before.current = { text, hrefs }
    if (isKept) combobox.selectOption(hrefs.indexOf(selected))
    else if (text === '') combobox.resetSelectedOption()
    else combobox.selectFirstOption()
  }, [combobox, text, groups])
}

/** Hits of the text before stay as far as they fit the new one: a hit that one sees does not vanish while the server is asked again. */
function useHits(text: string): Group[] {
  const { allowed } = useSignedIn()
  const [asked] = useDebouncedValue(text, 150)
  const query = { prefix: asked, limit: foundMax }
  const buckets = useQuery({
    queryKey: ['search-buckets', asked],
    queryFn: ({ signal }) => call('listBuckets', { query, signal }),
    placeholderData: keepPreviousData,
  })
  const users = useQuery({
    queryKey: ['search-users', asked],
    queryFn: ({ signal }) => call('listUsers', { query, signal }),
    placeholderData: keepPreviousData,
    enabled: allowed.has('admin:ListUsers') && asked !== '',
  })
  const [, bucket, prefix] = inBucket.exec(asked) ?? []
  const folders = useQuery({
    queryKey: ['search-folders', bucket, prefix],
    queryFn: async ({ signal }) => {
      const { prefixes, objects } = await call('listObjects', {
        params: { bucket: bucket! },
        query: { prefix: prefix!, limit: foldersRead },
        signal,
      })
      return { bucket: bucket!, prefix: prefix!, prefixes, hasObjects: objects.length > 0 }
    },
    placeholderData: keepPreviousData,
    enabled: bucket !== undefined,
    // A bucket that is not there, or not the caller's, has no folders to show.
    retry: false,
  })
  const schema = useQuery({
    queryKey: ['config-schema'],
    queryFn: ({ signal }) => call('getConfigSchema', { signal }),
    enabled: allowed.has('admin:GetConfig') && asked !== '',
  })
  const settings = (schema.data ?? [])
    .filter(({ name, keys }) => text !== '' && matches([name, ...keys.map(key => key.name)].join(' '), text))
    .map(({ name }) => name)
    .slice(0, foundMax)
  const pages = pageGroups
    .flatMap(group => group.pages)
    .filter(page => mayOpen(page, allowed) && matches(page.label, text))
    .slice(0, foundMax)
  return [
    { label: texts.search.pages, hits: pages.map(({ label, to }) => ({ label, href: to })) },
    {
      label: texts.search.buckets,
      hits: (buckets.data?.items ?? [])
        .filter(({ name }) => name.startsWith(text))
        .map(({ name }) => ({ label: name, href: `/buckets/${name}` })),
    },
    {
      label: texts.search.prefixes,
      hits: (folders.data?.prefixes ?? [])
        .map(folder => ({
          label: `${folders.data?.bucket}/${folder}`,
          href: `/buckets/${folders.data?.bucket}?prefix=${encodeURIComponent(folder)}`,
        }))
        .filter(({ label }) => inBucket.test(text) && label.startsWith(text))
        .slice(0, foundMax),
    },
    { label: texts.search.objects, hits: objectsHit(text, folders.data) },
    { label: texts.search.tabs, hits: tabHits(text, useParams({ strict: false }).bucket) },
    {
      label: texts.search.settings,
      hits: settings.map(name => ({ label: name, href: `/settings?open=${encodeURIComponent(name)}` })),
    },
    {
      label: texts.search.users,
      hits: (users.data?.items ?? [])
        .filter(({ accessKey }) => text !== '' && accessKey.startsWith(text))
        .map(({ accessKey }) => ({ label: accessKey, href: '/users' })),
    },
  ]
}

interface Listed {
  readonly bucket: string
  readonly prefix: string
  readonly hasObjects: boolean
}

/** One hit for all objects that begin so: their bucket lists them, however many they are. */
function objectsHit(text: string, listed: Listed | undefined): Hit[] {
  if (listed === undefined || !listed.hasObjects || text !== `${listed.bucket}/${listed.prefix}`) return []
  const { bucket, prefix } = listed
  const find = prefix.slice(prefix.lastIndexOf('/') + 1)
  const query = new URLSearchParams({ prefix: prefix.slice(0, prefix.length - find.length), find })
  return find === '' ? [] : [{ label: texts.search.objectsOf(text), href: `/buckets/${bucket}?${query}` }]
}

/** What stands on a tab beside its name. */
const onTabs: Partial<Record<BucketTab, readonly string[]>> = {
  settings: [
    texts.bucket.versioning,
    texts.bucket.lock,
    texts.bucket.quota,
    texts.bucket.encryption,
    texts.bucket.tags,
    texts.bucket.cors,
    texts.buckets.delete,
  ],
  access: [texts.accessRules.presetTitle, texts.accessRules.rules, texts.bucket.block],
}

/** Tabs of the bucket that the first of several words names, or else of the one whose page is open. */
function tabHits(text: string, open: string | undefined): Hit[] {
  const [, named, inNamed] = /^(\S+)\s+(.+)$/.exec(text) ?? []
  const hitsIn = (bucket: string, asked: string) =>
    bucketTabs
      .filter(tab => asked !== '' && matches([texts.bucket.tabs[tab], ...(onTabs[tab] ?? [])].join('\n'), asked))
      .map(tab => ({ label: `${bucket}: ${labelOf(tab, asked)}`, href: `/buckets/${bucket}?tab=${tab}` }))
  const hits = [
    ...(open === undefined ? [] : hitsIn(open, text)),
    ...(named === undefined || !bucketName.test(named) ? [] : hitsIn(named, inNamed!)),
  ]
  return hits.slice(0, foundMax)
}

const bucketName = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/

function labelOf(tab: BucketTab, asked: string): string {
  const name = texts.bucket.tabs[tab]
  const part = matches(name, asked) ? undefined : onTabs[tab]?.find(one => matches(one, asked))
  return part === undefined ? name : `${name}, ${part}`
}

function matches(label: string, text: string): boolean {
  return label.toLowerCase().includes(text.toLowerCase())
}
