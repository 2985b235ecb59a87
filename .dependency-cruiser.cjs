/**
 * The walls of the architecture, checked by `npm run check`. test/imports.test.ts proves that each rule bites.
 * Paths are relative to the repository; `$1` in `to` is what the parentheses in `from` matched.
 */
const testFolders = '(^|/)test/'
const product = '^(kernel|plugins|contrib)/'

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'kernel-knows-no-plugin',
      comment: 'The kernel sorts and runs plugins; it knows none of them.',
      severity: 'error',
      from: { path: '^kernel/' },
      to: { path: '^(plugins|contrib|examples|docs|test)/' },
    },
    {
      name: 'kernel-below-its-program',
      comment: 'The kernel opens no file and knows no process: `kernel/program/` does, which runs it.',
      severity: 'error',
      from: { path: '^kernel/', pathNot: ['^kernel/(program|testing)/', '^kernel/(main|index)\\.ts$', testFolders] },
      to: { path: '^kernel/program/' },
    },
    {
      name: 'plugins-meet-in-faces',
      comment: "Of another plugin only api.ts may be imported: it is the plugin's face.",
      severity: 'error',
      from: { path: '^plugins/([^/]+)/', pathNot: '^plugins/[^/]+/(test/|(contract|testing)\\.ts$)' },
      to: { path: '^plugins/', pathNot: ['^plugins/$1/', '^plugins/[^/]+/api\\.ts$'] },
    },
    {
      name: 'plugin-tests-start-others-whole',
      comment: 'Tests of a plugin, and the contract suite that it offers, may load other plugins (index.ts), run their contract suites, use their faces and what they offer to tests (testing.ts); no more.',
      severity: 'error',
      from: { path: '^plugins/([^/]+)/(test/|(contract|testing)\\.ts$)' },
      to: { path: '^plugins/', pathNot: ['^plugins/$1/', '^plugins/[^/]+/(api|contract|index|testing)\\.ts$', '^plugins/standard\\.ts$'] },
    },
    {
      name: 'faces-are-light',
      comment: 'A face has types, schemas, errors and pure functions. It never loads what does the work.',
      severity: 'error',
      from: { path: '^plugins/[^/]+/api\\.ts$' },
      to: { path: '^(fs|net|http|https|http2|tls|dgram|worker_threads|child_process)(/|$)', dependencyTypes: ['core'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'kernel-by-its-surface',
      comment: 'Outside of the kernel only `svc/kernel` (kernel/index.ts) and `svc/testing` (kernel/testing/index.ts) may be imported.',
      severity: 'error',
      from: { path: '^(plugins|contrib|examples)/' },
      to: { path: '^kernel/', pathNot: '^kernel/(index|testing/index)\\.ts$' },
    },
    {
      name: 'testing-stays-in-tests',
      comment: 'The product never loads test code. Contract suites are test code that other packages may run.',
      severity: 'error',
      from: { path: product, pathNot: [testFolders, '^kernel/testing/', '/(contract|testing)\\.ts$', '\\.test\\.ts$'] },
      to: { path: ['^kernel/testing/', testFolders, '/(contract|testing)\\.ts$'], pathNot: '^node_modules/' },
    },
    {
      name: 'nobody-imports-contrib',
      comment: 'Contributed packages and examples are loaded by configuration, as any third-party plugin.',
      severity: 'error',
      from: { path: '^(kernel|plugins)/' },
      to: { path: '^(contrib|examples)/' },
    },
    {
      name: 'outsiders-stand-alone',
      comment: 'A contributed package or an example is what a third party could write: faces, whole plugins, its own files.',
      severity: 'error',
      from: { path: '^(contrib|examples)/([^/]+)/' },
      to: {
        path: '^(contrib|examples|plugins)/',
        pathNot: ['^$1/$2/', '^plugins/[^/]+/(api|contract|index)\\.ts$', '^plugins/standard\\.ts$'],
      },
    },
    {
      name: 'services-for-all-tests',
      comment: 'Servers that tests of several plugins and packages start (Redis) are in test/services; all else that a test needs is beside it.',
      severity: 'error',
      from: { path: '^(kernel|plugins|contrib|examples)/' },
      to: { path: '^test/', pathNot: '^test/services/' },
    },
    {
      name: 'no-cycle',
      comment: 'Modules that need each other to load cannot be understood, tested or replaced one at a time.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'no-development-package-in-product',
      comment: 'A package that the product loads stands in `dependencies`.',
      severity: 'error',
      from: { path: '^(kernel|plugins)/', pathNot: [testFolders, '^kernel/testing/', '/(contract|testing)\\.ts$'] },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-undeclared-package',
      comment: 'A package that somebody else happens to install may vanish. Tests of workspaces are run by the root: it has tap.',
      severity: 'error',
      from: { path: '^(kernel|plugins|contrib|examples|test|docs)/', pathNot: '^(contrib|examples)/[^/]+/test/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'resolvable',
      comment: 'What does not resolve is not checked either.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['^(dist|coverage|\\.tap)/', '^contrib/svcctl/dist/', '^plugins/console/web/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['svc-src', 'import', 'node', 'default'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
    },
  },
}
