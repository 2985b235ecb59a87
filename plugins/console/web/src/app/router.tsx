/** The pages by their addresses. Each is loaded when it is first opened. */
import type { QueryClient } from '@tanstack/react-query'
import { createRootRouteWithContext, createRoute, createRouter, Outlet, redirect } from '@tanstack/react-router'
import { hadSession, sessionQuery } from '../api/session.ts'
import { PageError } from '../parts/failure.tsx'
import { type BucketTab, bucketTabs } from './bucket-tabs.ts'
import { type CacheTab, cacheTabs } from './cache-tabs.ts'
import { type DistributionTab, distributionTabs } from './distribution-tabs.ts'
import { lazyPage } from './lazy-page.ts'
import { mayOpen, overviewPage } from './pages.ts'
import { Shell } from './shell.tsx'
import { wayBack } from './way-back.ts'

interface Context {
  readonly queryClient: QueryClient
}

const NotFound = lazyPage(() => import('../pages/not-found.tsx'), 'NotFound')

const root = createRootRouteWithContext<Context>()({ component: Outlet, notFoundComponent: NotFound })

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): { from?: string } =>
    typeof search.from === 'string' ? { from: search.from } : {},
  // Whoever has a session is led on.
  async beforeLoad({ context, search }) {
    const signedIn = await context.queryClient.ensureQueryData(sessionQuery).catch(() => null)
    if (signedIn === null) return
    const { pathname, searchParams } = new URL(wayBack(search.from), 'http://own.invalid')
    throw redirect({ to: pathname, search: Object.fromEntries(searchParams), replace: true })
  },
  component: lazyPage(() => import('../pages/sign-in.tsx'), 'SignIn'),
})

/** Everything behind the sign-in. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  component: Shell,
  errorComponent: PageError,
  async beforeLoad({ context, location }) {
    const signedIn = await context.queryClient.ensureQueryData(sessionQuery)
    if (signedIn === null) throw redirect({ to: '/sign-in', search: { from: location.href } })
    return { signedIn }
  },
})

/** Whatever no page has, beside the navigation. */
const unknown = createRoute({ getParentRoute: () => inside, path: '$', component: NotFound })

const overview = createRoute({
  getParentRoute: () => inside,
  path: '/',
  // Whoever may not see the state of the server begins with what everybody has.
  beforeLoad({ context: { signedIn } }) {
    if (!mayOpen(overviewPage, signedIn.allowed)) throw redirect({ to: '/buckets', replace: true })
  },
  component: lazyPage(() => import('../pages/overview/overview.tsx'), 'Overview'),
})

const buckets = createRoute({
  getParentRoute: () => inside,
  path: '/buckets',
  component: lazyPage(() => import('../pages/buckets/buckets.tsx'), 'Buckets'),
})

const shares = createRoute({
  getParentRoute: () => inside,
  path: '/shares',
  component: lazyPage(() => import('../pages/shares/shares.tsx'), 'Shares'),
})

const users = createRoute({
  getParentRoute: () => inside,
  path: '/users',
  component: lazyPage(() => import('../pages/users/users.tsx'), 'Users'),
})

const groups = createRoute({
  getParentRoute: () => inside,
  path: '/groups',
  component: lazyPage(() => import('../pages/groups/groups.tsx'), 'Groups'),
})

const policies = createRoute({
  getParentRoute: () => inside,
  path: '/policies',
  component: lazyPage(() => import('../pages/policies/policies.tsx'), 'Policies'),
})

const accessKeys = createRoute({
  getParentRoute: () => inside,
  path: '/access-keys',
  validateSearch: (search: Record<string, unknown>): { user?: string } =>
    typeof search.user === 'string' && search.user !== '' ? { user: search.user } : {},
  component: lazyPage(() => import('../pages/access-keys/access-keys.tsx'), 'AccessKeys'),
})

const distributions = createRoute({
  getParentRoute: () => inside,
  path: '/distributions',
  component: lazyPage(() => import('../pages/publishing/distributions.tsx'), 'Distributions'),
})

const distribution = createRoute({
  getParentRoute: () => inside,
  path: '/distributions/$id',
  validateSearch: (search: Record<string, unknown>): { tab?: DistributionTab } =>
    distributionTabs.includes(search.tab as DistributionTab) ? { tab: search.tab as DistributionTab } : {},
  component: lazyPage(() => import('../pages/distributions/editor.tsx'), 'DistributionPage'),
})

const cache = createRoute({
  getParentRoute: () => inside,
  path: '/cache',
  validateSearch: (search: Record<string, unknown>): { tab?: CacheTab } =>
    cacheTabs.includes(search.tab as CacheTab) ? { tab: search.tab as CacheTab } : {},
  component: lazyPage(() => import('../pages/cache/cache.tsx'), 'Cache'),
})

const keyGroups = createRoute({
  getParentRoute: () => inside,
  path: '/key-groups',
  component: lazyPage(() => import('../pages/publishing/key-groups.tsx'), 'KeyGroups'),
})

const certificates = createRoute({
  getParentRoute: () => inside,
  path: '/certificates',
  component: lazyPage(() => import('../pages/publishing/certificates.tsx'), 'Certificates'),
})

const dnsProviders = createRoute({
  getParentRoute: () => inside,
  path: '/dns-providers',
  component: lazyPage(() => import('../pages/publishing/dns-providers.tsx'), 'DnsProviders'),
})

const events = createRoute({
  getParentRoute: () => inside,
  path: '/events',
  component: lazyPage(() => import('../pages/events/events.tsx'), 'Events'),
})

const keys = createRoute({
  getParentRoute: () => inside,
  path: '/keys',
  component: lazyPage(() => import('../pages/keys/keys.tsx'), 'Keys'),
})

const healing = createRoute({
  getParentRoute: () => inside,
  path: '/healing',
  component: lazyPage(() => import('../pages/operate/healing.tsx'), 'Healing'),
})

const locks = createRoute({
  getParentRoute: () => inside,
  path: '/locks',
  component: lazyPage(() => import('../pages/operate/locks.tsx'), 'Locks'),
})

const settings = createRoute({
  getParentRoute: () => inside,
  path: '/settings',
  validateSearch: (search: Record<string, unknown>): { open?: string } =>
    typeof search.open === 'string' ? { open: search.open } : {},
  component: lazyPage(() => import('../pages/settings/settings.tsx'), 'Settings'),
})

const server = createRoute({
  getParentRoute: () => inside,
  path: '/server',
  component: lazyPage(() => import('../pages/operate/server.tsx'), 'Server'),
})

const drives = createRoute({
  getParentRoute: () => inside,
  path: '/drives',
  validateSearch: (search: Record<string, unknown>): { replace?: string } =>
    typeof search.replace === 'string' ? { replace: search.replace } : {},
  component: lazyPage(() => import('../pages/operate/drives.tsx'), 'DrivesPage'),
})

const metrics = createRoute({
  getParentRoute: () => inside,
  path: '/metrics',
  component: lazyPage(() => import('../pages/operate/metrics.tsx'), 'Metrics'),
})

const account = createRoute({
  getParentRoute: () => inside,
  path: '/account',
  component: lazyPage(() => import('../pages/account/account.tsx'), 'Account'),
})

const trace = createRoute({
  getParentRoute: () => inside,
  path: '/trace',
  component: lazyPage(() => import('../pages/operate/trace.tsx'), 'Trace'),
})

const logs = createRoute({
  getParentRoute: () => inside,
  path: '/logs',
  component: lazyPage(() => import('../pages/operate/logs.tsx'), 'Logs'),
})

const audit = createRoute({
  getParentRoute: () => inside,
  path: '/audit',
  component: lazyPage(() => import('../pages/operate/audit.tsx'), 'Audit'),
})

const plugins = createRoute({
  getParentRoute: () => inside,
  path: '/plugins',
  component: lazyPage(() => import('../pages/operate/plugins.tsx'), 'Plugins'),
})

const tools = createRoute({
  getParentRoute: () => inside,
  path: '/tools',
  component: lazyPage(() => import('../pages/operate/tools.tsx'), 'Tools'),
})

interface BucketSearch {
  readonly prefix?: string
  readonly find?: string
  /** The key of the object whose details are open. */
  readonly object?: string
  readonly tab?: BucketTab
}

const bucket = createRoute({
  getParentRoute: () => inside,
  path: '/buckets/$bucket',
  validateSearch: (search: Record<string, unknown>): BucketSearch => ({
    ...(typeof search.prefix === 'string' && search.prefix !== '' && { prefix: search.prefix }),
    ...(typeof search.find === 'string' && search.find !== '' && { find: search.find }),
    ...(typeof search.object === 'string' && search.object !== '' && { object: search.object }),
    ...(bucketTabs.includes(search.tab as BucketTab) && { tab: search.tab as BucketTab }),
  }),
  component: lazyPage(() => import('../pages/bucket/bucket.tsx'), 'Bucket'),
})

const pages = [
  overview,
  buckets,
  shares,
  users,
  groups,
  policies,
  accessKeys,
  distributions,
  distribution,
  cache,
  keyGroups,
  certificates,
  dnsProviders,
  events,
  keys,
  server,
  drives,
  metrics,
  account,
  healing,
  locks,
  settings,
  trace,
  logs,
  audit,
  plugins,
  tools,
  bucket,
]
const routeTree = root.addChildren([signIn, inside.addChildren([...pages, unknown])])

export function createConsoleRouter(queryClient: QueryClient) {
  const basepath = new URL(document.baseURI).pathname
  const router = createRouter({
    routeTree,
    basepath,
    context: { queryClient },
    defaultPreload: 'intent',
    // What a page does not know does not reach it.
    search: { strict: true },
    defaultErrorComponent: PageError,
    scrollRestoration: true,
  })
  // Beside the question for the session, not after its answer.
  if (hadSession) {
    const routes: Readonly<Record<string, { readonly options: { readonly component?: unknown } }>> = router.routesById
    for (const { routeId } of router.matchRoutes(router.latestLocation))
      preload(routes[routeId as string]?.options.component)
  }
  return router
}

function preload(component: unknown): void {
  // Whoever shows the page tells that it cannot be loaded.
  void (component as ReturnType<typeof lazyPage> | undefined)?.preload?.()?.catch(() => {})
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>
  }
}
