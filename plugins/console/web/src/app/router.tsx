/** The pages by their addresses. Each is loaded when it is first opened. */
import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { sessionQuery } from '../api/session.ts'
import { NotFound, PageError } from '../parts/failure.tsx'
import { Shell } from './shell.tsx'

interface Context {
  readonly queryClient: QueryClient
}

const root = createRootRouteWithContext<Context>()({ component: Outlet, notFoundComponent: NotFound })

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): { from?: string } =>
    typeof search.from === 'string' ? { from: search.from } : {},
  component: lazyRouteComponent(() => import('../pages/sign-in.tsx'), 'SignIn'),
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

const overview = createRoute({
  getParentRoute: () => inside,
  path: '/',
  component: lazyRouteComponent(() => import('../pages/overview/overview.tsx'), 'Overview'),
})

const buckets = createRoute({
  getParentRoute: () => inside,
  path: '/buckets',
  component: lazyRouteComponent(() => import('../pages/buckets/buckets.tsx'), 'Buckets'),
})

export const objects = createRoute({
  getParentRoute: () => inside,
  path: '/buckets/$bucket',
  validateSearch: (search: Record<string, unknown>): { prefix?: string } =>
    typeof search.prefix === 'string' && search.prefix !== '' ? { prefix: search.prefix } : {},
  component: lazyRouteComponent(() => import('../pages/objects/objects.tsx'), 'Objects'),
})

const shares = createRoute({
  getParentRoute: () => inside,
  path: '/shares',
  component: lazyRouteComponent(() => import('../pages/shares/shares.tsx'), 'Shares'),
})

const routeTree = root.addChildren([signIn, inside.addChildren([overview, buckets, objects, shares])])

export function createConsoleRouter(queryClient: QueryClient) {
  const basepath = new URL(document.baseURI).pathname
  return createRouter({
    routeTree,
    basepath,
    context: { queryClient },
    defaultPreload: 'intent',
    defaultErrorComponent: PageError,
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>
  }
}
