/** The application: theme, data, pages. */
import { MantineProvider } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { setNonce } from 'get-nonce'
import { flushSync } from 'react-dom'
import { endSession, setSession, whenSessionEnds, whenSessionIsOther } from '../api/client.ts'
import { Problem } from '../api/problem.ts'
import { readOtherSession, type SignedIn, sessionEnd, sessionQuery, whenOwnerChanges } from '../api/session.ts'
import { ignoreSecondClicks } from '../parts/double-clicks.ts'
import { holdPressedButtons } from '../parts/held-buttons.ts'
import { secretsInTurn } from '../parts/secrets-in-turn.ts'
import { styleNonce } from '../parts/style-nonce.ts'
import { Toasts } from '../parts/toasts.tsx'
import { hasUnsaved } from '../parts/unsaved-forms.ts'
import { uploadQueue } from '../parts/uploads/queue.ts'
import { refreshListsAfterUploads } from '../parts/uploads/refresh-lists.ts'
import { replacing } from '../parts/uploads/replacing.ts'
import { basePath } from './base-path.ts'
import { askToSignInAgain, InterruptedPage } from './interrupted-page.tsx'
import { OwnPages, otherUser } from './other-user.tsx'
import { createPageState } from './page-state.ts'
import { createConsoleRouter } from './router.tsx'
import { theme } from './theme.ts'

const isFinal = ({ status, code }: Problem): boolean => (status > 0 && status < 500) || code === 'silent'

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // The server may be on this very machine, or in a network without the internet: what the browser thinks of that does not matter.
      networkMode: 'always',
      refetchOnReconnect: true,
      // What the server has refused it refuses again; what did not reach it may do so.
      retry: (failures, error) => failures < 2 && !(error instanceof Problem && isFinal(error)),
    },
    mutations: { networkMode: 'always' },
  },
})
refreshListsAfterUploads(queryClient)
/** Undefined between two users. */
const router = createPageState<ReturnType<typeof createConsoleRouter> | undefined>(createConsoleRouter(queryClient))
// It is read once, and changes only by sign-in and sign-out.
queryClient.setQueryDefaults(sessionQuery.queryKey, { gcTime: Number.POSITIVE_INFINITY })
whenSessionEnds(() => {
  sessionEnd.reason ??= 'ended'
  uploadQueue.stopAll()
  if (hasUnsaved()) {
    endSession()
    return askToSignInAgain(true)
  }
  setSession(undefined)
  forgetUser(null)
  void router.get()?.invalidate()
})
// Uploads that a session's end has interrupted go on for their own user only.
whenOwnerChanges(() => {
  void uploadQueue.discard({ isAbandoned: false })
  replacing.discard()
  secretsInTurn.discard()
  notifications.clean()
})

/** What the next one sees has to be what the next one may see. */
function forgetUser(next: SignedIn | null): void {
  queryClient.clear()
  replacing.discard()
  secretsInTurn.discard()
  queryClient.setQueryData(sessionQuery.queryKey, next)
}

/** Nothing of the page is kept, also where the next user is led to the same address. */
function leaveToOther(signedIn: SignedIn): void {
  const before = router.get()
  flushSync(() => router.set(undefined))
  before?.history.destroy()
  forgetUser(signedIn)
  history.replaceState(null, '', `${basePath}/`)
  router.set(createConsoleRouter(queryClient))
}

/** Pages ask for many things at once: one look for all. */
let looking: Promise<boolean> | undefined
whenSessionIsOther(() => {
  looking ??= adoptOrLeave().finally(() => {
    looking = undefined
  })
  return looking
})

async function adoptOrLeave(): Promise<boolean> {
  const before = queryClient.getQueryData<SignedIn | null>(sessionQuery.queryKey)
  const other = await readOtherSession()
  askToSignInAgain(false)
  if (other.accessKey === before?.session.accessKey) {
    queryClient.setQueryData(sessionQuery.queryKey, other.adopt())
    return true
  }
  uploadQueue.stopAll()
  replacing.discard()
  secretsInTurn.discard()
  otherUser.set(other.user)
  queryClient.clear()
  return false
}

ignoreSecondClicks()
holdPressedButtons()

// For the package that keeps the page behind a dialog from scrolling.
setNonce(styleNonce)

function Pages() {
  const pages = router.use()
  return pages && <RouterProvider router={pages} />
}

export function App() {
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => styleNonce}>
      <QueryClientProvider client={queryClient}>
        <Toasts />
        <OwnPages>
          <Pages />
          <InterruptedPage onOther={leaveToOther} />
        </OwnPages>
      </QueryClientProvider>
    </MantineProvider>
  )
}
