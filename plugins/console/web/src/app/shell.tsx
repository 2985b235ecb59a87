/** The frame around every page: navigation, colours, sign-out. */
import {
  ActionIcon,
  AppShell,
  Burger,
  Container,
  Group,
  ScrollArea,
  Text,
  Tooltip,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconLogout, IconMoon, IconSun } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useMatchRoute, useRouter } from '@tanstack/react-router'
import { type KeyboardEvent, Suspense, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { Problem } from '../api/problem.ts'
import { sessionQuery, signOut } from '../api/session.ts'
import { useHarmlessDrops } from '../parts/drops.ts'
import { notifyFailure } from '../parts/failure.tsx'
import { Name } from '../parts/name.tsx'
import { secretsInTurn } from '../parts/secrets-in-turn.ts'
import { isUnderWay } from '../parts/under-way.ts'
import { hasUnsaved } from '../parts/unsaved-forms.ts'
import { uploadQueue } from '../parts/uploads/queue.ts'
import { replacing } from '../parts/uploads/replacing.ts'
import { texts } from '../texts/index.ts'
import { ClosedPage, useClosedPage } from './closed-page.tsx'
import { lazyPage } from './lazy-page.ts'
import { mayOpen, type Page, pageGroups } from './pages.ts'
import { Search } from './search.tsx'
import { useSignedIn } from './signed-in.ts'

export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure()
  const burger = useRef<HTMLButtonElement>(null)
  const menu = useRef<HTMLDivElement>(null)
  // The menu lies over the page: whoever opens it by keyboard is in it.
  useEffect(() => {
    if (isOpen)
      (menu.current?.querySelector<HTMLElement>('a[data-active]') ?? menu.current?.querySelector('a'))?.focus()
  }, [isOpen])
  const closeByEscape = ({ key }: KeyboardEvent) => {
    if (!isOpen || key !== 'Escape') return
    close()
    burger.current?.focus()
  }
  const signedIn = useSignedIn()
  const closed = useClosedPage()
  useHarmlessDrops()
  const colours = useColours()
  const signingOut = useSignOut()
  const { user } = signedIn
  const { accessKey } = signedIn.session.identity
  useEffect(() => void uploadQueue.open(accessKey), [accessKey])
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="md"
    >
      <button type="button" className="skip-link" onClick={() => document.getElementById('content')?.focus()}>
        {texts.navigation.skip}
      </button>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              ref={burger}
              opened={isOpen}
              onClick={toggle}
              onKeyDown={closeByEscape}
              hiddenFrom="sm"
              size="sm"
              aria-label={texts.navigation.menu}
              aria-expanded={isOpen}
            />
            <Text fw={700}>{texts.product}</Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Link to="/account" className="account-link" aria-label={texts.account.open(user)} title={user}>
              <Name>{user}</Name>
            </Link>
            <Search
              commands={[
                { label: colours.label, words: texts.search.commandWords.colours, run: colours.change },
                { label: texts.navigation.signOut, words: texts.search.commandWords.signOut, run: signingOut.begin },
              ]}
            />
            <ColourSwitch {...colours} />
            <SignOut {...signingOut} />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar
        ref={menu}
        p="xs"
        className="navigation"
        mod={{ open: isOpen }}
        aria-label={texts.navigation.label}
        onKeyDown={closeByEscape}
      >
        <AppShell.Section grow component={ScrollArea}>
          {pageGroups.map(({ label, pages }) => (
            <PageLinks
              key={label}
              label={label}
              pages={pages.filter(page => mayOpen(page, signedIn.allowed))}
              onOpen={close}
            />
          ))}
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Container size="xl" p={0}>
          {closed === undefined ? <Outlet /> : <ClosedPage page={closed} />}
        </Container>
        <div className="toast-room" />
        <Uploads />
        <Replacements />
        <Secrets />
      </AppShell.Main>
    </AppShell>
  )
}

const ConfirmDeletion = lazyPage(() => import('../parts/confirm-deletion.tsx'), 'ConfirmDeletion')
const ReplaceQuestion = lazyPage(() => import('../parts/uploads/replace-question.tsx'), 'ReplaceQuestion')
const UploadPanel = lazyPage(() => import('../parts/uploads/upload-panel.tsx'), 'UploadPanel')

function Uploads() {
  const { files, interrupted } = useSyncExternalStore(uploadQueue.subscribe, uploadQueue.snapshot)
  if (files === 0 && interrupted === undefined) return null
  return (
    <Suspense>
      <UploadPanel />
    </Suspense>
  )
}

function Replacements() {
  const question = useSyncExternalStore(replacing.subscribe, replacing.snapshot)
  if (question === undefined) return null
  return (
    <Suspense>
      <ReplaceQuestion {...question} />
    </Suspense>
  )
}

function Secrets() {
  const first = useSyncExternalStore(secretsInTurn.subscribe, secretsInTurn.snapshot)
  return first && <Suspense key={first.id}>{first.draw(first.onKept)}</Suspense>
}

/** On a low screen the link of the page that is open may be beyond the edge. */
const scrollIntoView = (link: HTMLElement | null) => link?.scrollIntoView({ block: 'nearest' })

/** Plain links: there are two dozen, and they are drawn before anything else. */
function PageLinks({ label, pages, onOpen }: { label: string; pages: readonly Page[]; onOpen: () => void }) {
  const matches = useMatchRoute()
  if (pages.length === 0) return null
  return (
    <>
      {label !== '' && (
        <Text size="xs" fw={600} c="dimmed" px="sm" pt="sm">
          {label}
        </Text>
      )}
      {pages.map(({ to, label, icon: Icon }) => (
        <Link
          key={to}
          to={to}
          className="nav-link"
          {...(matches({ to, fuzzy: to !== '/' }) !== false && { 'data-active': true, ref: scrollIntoView })}
          onClick={onOpen}
        >
          <Icon size={18} aria-hidden />
          {label}
        </Link>
      ))}
    </>
  )
}

function useColours() {
  const { setColorScheme } = useMantineColorScheme()
  const isDark = useComputedColorScheme('light') === 'dark'
  return {
    isDark,
    label: isDark ? texts.navigation.light : texts.navigation.dark,
    change: () => setColorScheme(isDark ? 'light' : 'dark'),
  }
}

function ColourSwitch({ isDark, label, change }: ReturnType<typeof useColours>) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" aria-label={label} onClick={change}>
        {isDark ? <IconSun size={18} /> : <IconMoon size={18} />}
      </ActionIcon>
    </Tooltip>
  )
}

type Loss = keyof typeof texts.navigation.signOutLosses

/** What would be lost now. */
const losses = (): Loss[] => [
  ...(uploadQueue.isBusy ? (['uploads'] as const) : []),
  ...(hasUnsaved() ? (['unsaved'] as const) : []),
  ...(isUnderWay() ? (['underWay'] as const) : []),
]

function useSignOut() {
  const queryClient = useQueryClient()
  const router = useRouter()
  const [lost, setLost] = useState<readonly Loss[]>([])
  const leave = async () => {
    replacing.discard()
    await uploadQueue.discard({ isAbandoned: true })
    try {
      await signOut()
    } catch (error) {
      // The cookie is the server's to take: who is not told stays signed in for whoever comes next.
      if (!(error instanceof Problem && error.status === 401)) return notifyFailure(error)
    }
    secretsInTurn.discard()
    queryClient.clear()
    queryClient.setQueryData(sessionQuery.queryKey, null)
    await router.navigate({ to: '/sign-in' })
  }
  return {
    lost,
    leave,
    begin: () => (losses().length > 0 ? setLost(losses()) : void leave()),
    stay: () => setLost([]),
  }
}

function SignOut({ lost, leave, begin, stay }: ReturnType<typeof useSignOut>) {
  return (
    <>
      <Tooltip label={texts.navigation.signOut}>
        <ActionIcon variant="subtle" color="gray" aria-label={texts.navigation.signOut} onClick={begin}>
          <IconLogout size={18} />
        </ActionIcon>
      </Tooltip>
      {lost.length > 0 && (
        <Suspense>
          <ConfirmDeletion
            title={texts.navigation.signOutTitle(lost)}
            action={texts.navigation.signOut}
            onConfirm={leave}
            onClose={stay}
          >
            {lost.map(loss => (
              <Text key={loss} size="sm">
                {texts.navigation.signOutLosses[loss]}
              </Text>
            ))}
          </ConfirmDeletion>
        </Suspense>
      )}
    </>
  )
}
