/** The frame around every page: navigation, colours, sign-out. */
import {
  ActionIcon,
  AppShell,
  Burger,
  Container,
  Group,
  NavLink,
  Text,
  Tooltip,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconBucket, IconDashboard, IconLink, IconLogout, IconMoon, IconSun } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useMatchRoute, useRouter } from '@tanstack/react-router'
import { type SignedIn, sessionQuery, signOut } from '../api/session.ts'
import { UploadPanel } from '../parts/uploads/upload-panel.tsx'
import { texts } from '../texts/index.ts'
import { useSignedIn } from './signed-in.ts'

interface Page {
  readonly to: '/' | '/buckets' | '/shares'
  readonly label: string
  readonly icon: typeof IconBucket
  /** Whether the caller may do anything there; default: everybody may. */
  readonly isShown?: (signedIn: SignedIn) => boolean
}

const pages: readonly Page[] = [
  { to: '/', label: texts.navigation.overview, icon: IconDashboard },
  { to: '/buckets', label: texts.navigation.buckets, icon: IconBucket },
  { to: '/shares', label: texts.navigation.shares, icon: IconLink },
]

export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure()
  const signedIn = useSignedIn()
  const matches = useMatchRoute()
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
            <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label={texts.navigation.menu} />
            <Text fw={700}>{texts.product}</Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Text size="sm" c="dimmed" truncate maw={160}>
              {signedIn.session.identity.accessKey}
            </Text>
            <ColourSwitch />
            <SignOut />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={texts.navigation.label}>
        {pages
          .filter(({ isShown }) => isShown?.(signedIn) ?? true)
          .map(({ to, label, icon: Icon }) => (
            <NavLink
              key={to}
              component={Link}
              to={to}
              label={label}
              leftSection={<Icon size={18} aria-hidden />}
              active={matches({ to, fuzzy: to !== '/' }) !== false}
              onClick={close}
            />
          ))}
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Container size="xl" p={0}>
          <Outlet />
        </Container>
        <UploadPanel />
      </AppShell.Main>
    </AppShell>
  )
}

function ColourSwitch() {
  const { setColorScheme } = useMantineColorScheme()
  const isDark = useComputedColorScheme('light') === 'dark'
  const label = isDark ? texts.navigation.light : texts.navigation.dark
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={label}
        onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
      >
        {isDark ? <IconSun size={18} /> : <IconMoon size={18} />}
      </ActionIcon>
    </Tooltip>
  )
}

function SignOut() {
  const queryClient = useQueryClient()
  const router = useRouter()
  const leave = async () => {
    await signOut().catch(() => {})
    queryClient.clear()
    queryClient.setQueryData(sessionQuery.queryKey, null)
    await router.navigate({ to: '/sign-in' })
  }
  return (
    <Tooltip label={texts.navigation.signOut}>
      <ActionIcon variant="subtle" color="gray" aria-label={texts.navigation.signOut} onClick={leave}>
        <IconLogout size={18} />
      </ActionIcon>
    </Tooltip>
  )
}
