import type { PolicyService } from './api.ts'

/** Root may do everything; everyone else, named or anonymous, nothing. */
export function createPolicy(): PolicyService {
  return Object.freeze({ isAllowed: ({ identity }) => identity?.isRoot === true } satisfies PolicyService)
}
