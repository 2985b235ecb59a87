/** A separate module, so that `import()` loads cli-progress for transfers alone, bundled or not. */
export { SingleBar } from 'cli-progress'
