/** Object lock: what other operations ask. Locks are kept and held to by `objects`, in the commit. */
export { objectLockErrors } from './errors.ts'
export { mayBypassGovernance } from './governance.ts'
