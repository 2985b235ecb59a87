/** What a search finds: pages and settings at once; buckets, their folders, users, groups, policies and distributions as the server finds them. */
import { Combobox, type ComboboxStore, Text, TextInput, useCombobox } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { defaultStringifySearch, useParams, useRouter } from '@tanstack/react-router'
import { useEffect, useLayoutEffect, useRef } from 'react'
import { call } from '../api/client.ts'
import type { Answer } from '../api/operations.ts'
import { Name } from '../parts/name.tsx'
import { accessRuleTexts } from '../texts/access-rules.ts'
import { texts } from '../texts/index.ts'
import { searchTexts } from '../texts/search.ts'
import { basePath } from './base-path.ts'
import { type BucketTab, bucketTabs } from './bucket-tabs.ts'
import { accountPage, mayOpen, pageGroups } from './pages.ts'
import type { Command } from './search.tsx'
import { isAbout, matches } from './search-words.ts'
import { useSignedIn } from './signed-in.ts'

const foundMax = 6
/** Folders and objects, of which the folders are shown. */
const foldersRead = 200

type Subsystem = Answer<'getConfigSchema'>[number]

interface Hit {
  readonly label: string
  /** Below the place of the console; of a command `command:` and its label. */
  readonly href: string
}

interface Group {
  readonly label: string
  readonly hits: readonly Hit[]
}

/** `bucket/beginning of a folder`. */
const inBucket = /^([^/]+)\/(.*)$/

export interface SearchHitsProps {
  /** What was typed before this part of the page was loaded, too. */
  readonly text: string
  readonly onText: (text: string) => void
  readonly commands: readonly Command[]
  /** Told whether it leads to a page. */
  readonly onDone: (hasLed: boolean) => void
}

export function SearchHits({ text, onText, commands, onDone }: SearchHitsProps) {
  const input = useRef<HTMLInputElement>(null)
  // Takes the place of the field that was there before this part of the page was loaded.
  useLayoutEffect(() => {
    input.current?.focus()
    input.current?.setSelectionRange(input.current.value.length, input.current.value.length)
  }, [])
  const router = useRouter()
  const combobox = useCombobox({ opened: true })
  const groups = byRank(useHits(text.trim(), commands), text.trim())
  const hasMoved = useRef(false)
  /** The text after which Enter came, before there was a hit. */
  const entered = useRef<string>(undefined)
  useSelection(combobox, text, groups, { hasMoved, entered })
  const isEmpty = groups.every(({ hits }) => hits.length === 0)
  return (
    <Combobox
      store={combobox}
      withinPortal={false}
      onOptionSubmit={href => {
        const command = commands.find(one => hrefOf(one) === href)
        onDone(command === undefined)
        if (command === undefined) router.history.push(basePath + href)
        else command.run()
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
          onChange={event => {
            hasMoved.current = false
            entered.current = undefined
            onText(event.currentTarget.value)
          }}
          // The list of hits is always open, and keeps the key from the dialog.
          onKeyDown={event => {
            if (event.key === 'Escape') onDone(false)
            if (event.key.startsWith('Arrow')) hasMoved.current = true
            if (event.key === 'Enter' && combobox.getSelectedOptionIndex() < 0) entered.current = text
          }}
        />
      </Combobox.EventsTarget>
      <Combobox.Options mt="xs">
        {isEmpty && <Combobox.Empty>{texts.search.nothing}</Combobox.Empty>}
        {groups.map(({ label, hits }) => (
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

/** A name that is the text, one that begins with it, and what has it elsewhere. */
function rankOf(label: string, text: string): number {
  const [name, wanted] = [label.toLowerCase(), text.toLowerCase()]
  return name === wanted ? 0 : name.startsWith(wanted) ? 1 : 2
}

/** The best hits first, and the groups that have them; what is equally good stays in its order. */
function byRank(groups: readonly Group[], text: string): Group[] {
  const best = ({ hits }: Group) => Math.min(...hits.map(({ label }) => rankOf(label, text)))
  return groups
    .map(({ label, hits }) => ({
      label,
      hits: hits.toSorted((one, other) => rankOf(one.label, text) - rankOf(other.label, text)),
    }))
    .filter(({ hits }) => hits.length > 0)
    .toSorted((one, other) => best(one) - best(other))
}

interface Keys {
  readonly hasMoved: { readonly current: boolean }
  readonly entered: { readonly current: string | undefined }
}

/**
 * Selects the first hit when the text changes. Later answers keep the selection, so that Enter opens the hit that the user sees selected;
 * only a name that fits better takes it, as long as nobody has moved it.
 */
function useSelection(combobox: ComboboxStore, text: string, groups: readonly Group[], { hasMoved, entered }: Keys) {
  const before = useRef<{ readonly text: string; readonly hrefs: readonly string[] }>({ text: '', hrefs: [] })
  useEffect(() => {
    const hits = groups.flatMap(group => group.hits)
    const hrefs = hits.map(({ href }) => href)
    if (text === before.current.text && hrefs.join(' ') === before.current.hrefs.join(' ')) return
    const selected = before.current.hrefs[combobox.getSelectedOptionIndex()]
    const rankAt = (index: number) => rankOf(hits[index]?.label ?? '', text.trim())
    const isKept =
      text === before.current.text &&
      selected !== undefined &&
      hrefs.includes(selected) &&
      (hasMoved.current || rankAt(hrefs.indexOf(selected)) <= rankAt(0))
    before.current = { text, hrefs }
    if (isKept) combobox.selectOption(hrefs.indexOf(selected))
    else if (text === '') combobox.resetSelectedOption()
    else combobox.selectFirstOption()
    // Whoever has typed faster than the server answers is led on when it does.
    if (entered.current === text && text !== '' && hits.length > 0) combobox.clickSelectedOption()
  }, [combobox, text, groups, hasMoved, entered])
}

/** Hits of the text before stay as far as they fit the new one: a hit that one sees does not vanish while the server is asked again. */
function useHits(text: string, commands: readonly Command[]): Group[] {
  const { allowed } = useSignedIn()
  const [asked] = useDebouncedValue(text, 150)
  const query = { prefix: asked, limit: foundMax }
  const buckets = useQuery({
    queryKey: ['search-buckets', asked],
    queryFn: ({ signal }) => call('listBuckets', { query, signal }),
    placeholderData: keepPreviousData,
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
  const pages = [...pageGroups.flatMap(group => group.pages), accountPage]
    .filter(page => mayOpen(page, allowed))
    .map(({ label, to }) => ({ label: foundBy(label, searchTexts.pageWords[to], text), href: to }))
  const found = commands.map(command => ({
    label: text === '' ? undefined : foundBy(command.label, command.words, text),
    href: hrefOf(command),
  }))
  return [
    // Of what fits as well, the bucket that one is in comes first.
    { label: texts.search.tabs, hits: useTabHits(text, asked) },
    { label: texts.search.pages, hits: pages.filter(isHit).slice(0, foundMax) },
    { label: texts.search.commands, hits: found.filter(isHit) },
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
          href: `/buckets/${folders.data?.bucket}${defaultStringifySearch({ prefix: folder })}`,
        }))
        .filter(({ label }) => inBucket.test(text) && label.startsWith(text))
        .slice(0, foundMax),
    },
    { label: texts.search.objects, hits: objectsHit(text, folders.data) },
    { label: texts.search.distributions, hits: useDistributionHits(text) },
    {
      label: texts.search.settings,
      hits: (text === '' ? [] : (schema.data ?? []))
        .map(subsystem => ({
          label: settingFoundBy(subsystem, text),
          href: `/settings?open=${encodeURIComponent(subsystem.name)}`,
        }))
        .filter(isHit)
        .slice(0, foundMax),
    },
    ...usePrincipalHits(text, asked),
  ]
}

/** Users, groups and policies by the beginnings of their names. */
function usePrincipalHits(text: string, asked: string): Group[] {
  const { allowed } = useSignedIn()
  const query = { prefix: asked, limit: foundMax }
  const options = (key: string, action: string) => ({
    queryKey: ['search-principals', key, asked],
    placeholderData: keepPreviousData,
    enabled: allowed.has(action) && asked !== '',
  })
  const users = useQuery({
    ...options('users', 'admin:ListUsers'),
    queryFn: async ({ signal }) => (await call('listUsers', { query, signal })).items.map(({ accessKey }) => accessKey),
  })
  const groups = useQuery({
    ...options('groups', 'admin:ListGroups'),
    queryFn: async ({ signal }) => (await call('listGroups', { query, signal })).items.map(({ name }) => name),
  })
  const policies = useQuery({
    ...options('policies', 'admin:ListUserPolicies'),
    queryFn: async ({ signal }) =>
      (await call('listPolicies', { query: { ...query, attachedTo: false }, signal })).items.map(({ name }) => name),
  })
  const hitsOf = (to: string, names: readonly string[] = []): Hit[] =>
    names
      .filter(name => text !== '' && name.startsWith(text))
      .map(name => ({ label: name, href: to + defaultStringifySearch({ find: name }) }))
  return [
    { label: texts.search.users, hits: hitsOf('/users', users.data) },
    { label: texts.search.groups, hits: hitsOf('/groups', groups.data) },
    { label: texts.search.policies, hits: hitsOf('/policies', policies.data) },
  ]
}

/** Distributions whose name or one of whose domains has the text. They are read once, and the first thousand of them. */
function useDistributionHits(text: string): Hit[] {
  const { allowed } = useSignedIn()
  const { data } = useQuery({
    queryKey: ['distributions', 'search'],
    queryFn: async ({ signal }) =>
      (await call('listDistributions', { query: { limit: 1000 }, signal })).items.map(({ id, aliases }) => ({
        id,
        aliases,
      })),
    enabled: allowed.has('admin:ManageDistributions') && text !== '',
  })
  return (data ?? [])
    .map(({ id, aliases }) => ({ label: foundBy(id, aliases, text), href: `/distributions/${encodeURIComponent(id)}` }))
    .filter(isHit)
    .slice(0, foundMax)
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
  const query = defaultStringifySearch({ prefix: prefix.slice(0, prefix.length - find.length), find })
  return find === '' ? [] : [{ label: texts.search.objectsOf(text), href: `/buckets/${bucket}${query}` }]
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
  access: [accessRuleTexts.presetTitle, accessRuleTexts.choose, accessRuleTexts.rules, texts.bucket.block],
}

/** Tabs of the bucket that the first of several words names, or else of the one whose page is open. */
function useTabHits(text: string, asked: string): Hit[] {
  const open = useParams({ strict: false }).bucket
  const [, named, inNamed] = wordsInBucket.exec(text) ?? []
  const isNamed = useIsBucket(wordsInBucket.exec(asked)?.[1]) === named
  const isOpen = useIsBucket(open) === open
  const hitsIn = (bucket: string, words: string): Hit[] =>
    bucketTabs
      .map(tab => ({
        label: foundBy(`${bucket}: ${texts.bucket.tabs[tab]}`, onTabs[tab], words, texts.bucket.tabs[tab]),
        href: `/buckets/${bucket}?tab=${tab}`,
      }))
      .filter(isHit)
  const hits = [
    ...(open === undefined || !isOpen || text === '' ? [] : hitsIn(open, text)),
    ...(named === undefined || !isNamed ? [] : hitsIn(named, inNamed!)),
  ]
  return hits.slice(0, foundMax)
}

const wordsInBucket = /^([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\s+(.+)$/

/** The name, if the caller sees a bucket of it. */
function useIsBucket(name: string | undefined): string | undefined {
  const { data } = useQuery({
    queryKey: ['search-bucket', name],
    // The list is sorted: of all that begin so it comes first.
    queryFn: async ({ signal }) => (await call('listBuckets', { query: { prefix: name!, limit: 1 }, signal })).items,
    enabled: name !== undefined,
  })
  return data?.[0]?.name === name ? name : undefined
}

/** The label, with the words by which it is found if its name is not enough; undefined if it is not found. */
function foundBy(label: string, words: readonly string[] = [], text: string, name = label): string | undefined {
  if (matches(name, text)) return label
  const part = words.find(one => matches(one, text))
  return part === undefined ? undefined : `${label}, ${part}`
}

/** By its name or a key of it, by what people call it, and by what its keys are said to do. */
function settingFoundBy({ name, description, keys }: Subsystem, text: string): string | undefined {
  if ([name, ...keys.map(key => key.name)].some(one => matches(one, text))) return name
  const found = foundBy(name, [texts.settings.titleOf(name), ...(searchTexts.settingWords[name] ?? [])], text)
  if (found !== undefined) return found
  const key = keys.find(one => isAbout(one.description, text))
  return key !== undefined ? `${name}, ${key.name}` : isAbout(description, text) ? name : undefined
}

const isHit = (hit: { readonly label: string | undefined; readonly href: string }): hit is Hit =>
  hit.label !== undefined

const hrefOf = ({ label }: Command): string => `command:${label}`
