/** Lines of logs, written as objects into buckets. A library: plugins that have such lines make one writer each. */
export { createLogObjects, type LogObjects, type LogObjectsOptions } from './log-objects.ts'
