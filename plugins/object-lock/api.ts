/** Object lock: functions for other operations. `objects` stores and enforces locks, in the commit. */
export { objectLockErrors } from './errors.ts'
export { mayBypassGovernance } from './governance.ts'
export { requirePeriod } from './retention.ts'
