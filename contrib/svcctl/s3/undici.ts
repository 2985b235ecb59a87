/** A separate module, so that `import()` loads undici at the first request that needs it, bundled or not. */
export { Pool } from 'undici'
